import type { OutboxControls, PauseTarget } from '../../store/index.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The controls of a PostgreSQL store. */
export function postgresControls(session: PostgresSession, statements: PostgresStatements): OutboxControls {
  return {
    pause: async (target) => void (await session.run(statements.pause, controlOf(target))),
    resume: async (target) => void (await session.run(statements.resume, controlOf(target))),
    paused: async () => pausesAndMode(await session.run(statements.paused)).paused,
  }
}

/**
 * Returns the pauses, and the last mode that a process joined with. Each control has a kind and a name, or
 * two nulls for none.
 */
export function pausesAndMode(controls: readonly (readonly Value[])[]): {
  paused: readonly PauseTarget[]
  mode: string | null
} {
  const pauses = controls.filter(([kind]) => kind === 'pauseType' || kind === 'pauseDestination')
  return {
    paused: pauses.map(([kind, name]) =>
      kind === 'pauseType' ? { eventType: name! } : { destination: name! },
    ),
    mode: controls.find(([kind]) => kind === 'mode')?.[1] ?? null,
  }
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
