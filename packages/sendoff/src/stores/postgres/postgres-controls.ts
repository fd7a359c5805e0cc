import type { PauseTarget } from '../../store.ts'
import type { PostgresSession } from './postgres-driver.ts'
import type { PostgresStatements } from './statements.ts'

export async function pause(
  session: PostgresSession,
  statements: PostgresStatements,
  target: PauseTarget,
): Promise<void> {
  await session.run(statements.pause, controlOf(target))
}

export async function resume(
  session: PostgresSession,
  statements: PostgresStatements,
  target: PauseTarget,
): Promise<void> {
  await session.run(statements.resume, controlOf(target))
}

export async function paused(
  session: PostgresSession,
  statements: PostgresStatements,
): Promise<readonly PauseTarget[]> {
  const controls = await session.run(statements.paused)
  return controls.map(([kind, name]) =>
    kind === 'pauseType' ? { eventType: name! } : { destination: name! },
  )
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
