import {
  latestRouting,
  type NewAuditEntry,
  type OutboxControls,
  type PauseTarget,
  type StoredRouting,
} from '../../store/index.ts'
import type { MysqlSession, StoreDriver, Value } from './drivers/mysql-driver.ts'
import { recordEntry } from '../sql/run-action.ts'
import { actionSteps } from './mysql-actions.ts'
import { textOf } from './sql/row-columns.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The controls of a MySQL store. */
export function mysqlControls(driver: StoreDriver, statements: MysqlStatements): OutboxControls {
  const { setControl, liftControl } = statements
  return {
    pause: (target, audit) => changeControl(driver, statements, setControl, controlOf(target), audit),
    resume: (target, audit) => changeControl(driver, statements, liftControl, controlOf(target), audit),
    paused: async () => (await knownControls(driver, statements)).paused,
  }
}

/** Sets or lifts a control. With an audit entry, both are one transaction. */
export async function changeControl(
  driver: StoreDriver,
  statements: MysqlStatements,
  statement: string,
  values: readonly Value[],
  audit: NewAuditEntry | undefined,
): Promise<void> {
  if (audit === undefined) {
    await driver.run(statement, values)
    return
  }
  await driver.briefly(async (session) => {
    await session.run(statement, values)
    await recordEntry(actionSteps(session, statements), audit, [])
  })
}

/** Returns the pauses, the last mode that a process joined with, and the routing. */
export async function knownControls(
  session: MysqlSession,
  statements: MysqlStatements,
): Promise<KnownControls> {
  const { rows } = await session.run(statements.controls)
  const controls = rows.map(([kind, name, value]) => ({
    kind: String(kind),
    name: textOf(name)!,
    content: String(value),
  }))
  const pauses = controls.filter(({ kind }) => kind.startsWith('pause'))
  return {
    paused: pauses.map(({ kind, name }) =>
      kind === 'pauseType' ? { eventType: name } : { destination: name },
    ),
    mode: controls.find(({ kind }) => kind === 'mode')?.name ?? null,
    routing: latestRouting(controls.filter(({ kind }) => kind === 'routing')),
  }
}

interface KnownControls {
  readonly paused: readonly PauseTarget[]
  readonly mode: string | null
  readonly routing: StoredRouting | null
}

function controlOf(target: PauseTarget): [kind: string, name: Buffer] {
  return 'eventType' in target
    ? ['pauseType', Buffer.from(target.eventType)]
    : ['pauseDestination', Buffer.from(target.destination)]
}
