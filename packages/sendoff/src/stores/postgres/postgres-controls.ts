import type { PauseTarget } from '../../store/index.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import type { PostgresStatements } from './sql/statements.ts'

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
  return targetsOf(await session.run(statements.paused))
}

/** The targets among rows of kind and name; those of other kinds, and without one, say nothing. */
export function targetsOf(controls: readonly (readonly Value[])[]): readonly PauseTarget[] {
  return controls
    .filter(([kind]) => kind === 'pauseType' || kind === 'pauseDestination')
    .map(([kind, name]) => (kind === 'pauseType' ? { eventType: name! } : { destination: name! }))
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
