import type { OutboxControls, PauseTarget } from '../../store/index.ts'
import type { MysqlSession } from './drivers/mysql-driver.ts'
import { textOf } from './sql/row-columns.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The controls of a MySQL store. */
export function mysqlControls(session: MysqlSession, statements: MysqlStatements): OutboxControls {
  return {
    pause: async (target) => void (await session.run(statements.setControl, controlOf(target))),
    resume: async (target) => void (await session.run(statements.liftControl, controlOf(target))),
    paused: async () => (await pausesAndMode(session, statements)).paused,
  }
}

/** Returns the pauses, and the last mode that a process joined with. */
export async function pausesAndMode(
  session: MysqlSession,
  statements: MysqlStatements,
): Promise<{ paused: readonly PauseTarget[]; mode: string | null }> {
  const { rows } = await session.run(statements.pausesAndMode)
  const controls = rows.map(([kind, name]) => ({ kind: String(kind), name: textOf(name)! }))
  const pauses = controls.filter(({ kind }) => kind !== 'mode')
  return {
    paused: pauses.map(({ kind, name }) =>
      kind === 'pauseType' ? { eventType: name } : { destination: name },
    ),
    mode: controls.find(({ kind }) => kind === 'mode')?.name ?? null,
  }
}

function controlOf(target: PauseTarget): [kind: string, name: Buffer] {
  return 'eventType' in target
    ? ['pauseType', Buffer.from(target.eventType)]
    : ['pauseDestination', Buffer.from(target.destination)]
}
