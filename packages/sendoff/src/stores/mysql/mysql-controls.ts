import type { PauseTarget } from '../../store.ts'
import type { MysqlSession } from './mysql-driver.ts'
import type { MysqlStatements } from './statements.ts'

export async function pause(
  session: MysqlSession,
  statements: MysqlStatements,
  target: PauseTarget,
): Promise<void> {
  await session.run(statements.pause, controlOf(target))
}

export async function resume(
  session: MysqlSession,
  statements: MysqlStatements,
  target: PauseTarget,
): Promise<void> {
  await session.run(statements.resume, controlOf(target))
}

export async function paused(
  session: MysqlSession,
  statements: MysqlStatements,
): Promise<readonly PauseTarget[]> {
  const { rows } = await session.run(statements.paused)
  return rows.map(([kind, name]) =>
    kind === 'pauseType' ? { eventType: String(name) } : { destination: String(name) },
  )
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
