import type { OutboxControls, PauseTarget } from '../../store/index.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The switches of a PostgreSQL store. */
export function postgresControls(session: PostgresSession, statements: PostgresStatements): OutboxControls {
  return {
    pause: async (target) => void (await session.run(statements.pause, controlOf(target))),
    resume: async (target) => void (await session.run(statements.resume, controlOf(target))),
    paused: async () => pausedTargets(await session.run(statements.paused)),
  }
}

/** The paused targets among rows of kind and name; rows of other kinds, and without one, are left out. */
export function pausedTargets(controls: readonly (readonly Value[])[]): readonly PauseTarget[] {
  return controls
    .filter(([kind]) => kind === 'pauseType' || kind === 'pauseDestination')
    .map(([kind, name]) => (kind === 'pauseType' ? { eventType: name! } : { destination: name! }))
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
