import type { OutboxControls, PauseTarget } from '../../store/index.ts'
import { auditedRun } from './audited-run.ts'
import type { PostgresDriver, Value } from './drivers/postgres-driver.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The controls of a PostgreSQL store. */
export function postgresControls<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
): OutboxControls {
  const run = auditedRun(driver, statements)
  return {
    pause: async (target, audit) => void (await run(statements.pause, controlOf(target), audit)),
    resume: async (target, audit) => void (await run(statements.resume, controlOf(target), audit)),
    paused: async () => pausesAndMode(await driver.run(statements.paused)).paused,
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
