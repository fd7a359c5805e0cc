import {
  latestRouting,
  type OutboxControls,
  type PauseTarget,
  type StoredRouting,
} from '../../store/index.ts'
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
    paused: async () => knownControls(await driver.run(statements.paused)).paused,
  }
}

/**
 * Returns the pauses, the last mode that a process joined with, and the routing. Each control has a kind, a
 * name and a value, or nulls for none.
 */
export function knownControls(controls: readonly (readonly Value[])[]): {
  paused: readonly PauseTarget[]
  mode: string | null
  routing: StoredRouting | null
} {
  const routings = controls.filter(([kind]) => kind === 'routing')
  const pauses = controls.filter(([kind]) => kind === 'pauseType' || kind === 'pauseDestination')
  return {
    paused: pauses.map(([kind, name]) =>
      kind === 'pauseType' ? { eventType: name! } : { destination: name! },
    ),
    mode: controls.find(([kind]) => kind === 'mode')?.[1] ?? null,
    routing: latestRouting(routings.map(([, name, value]) => ({ name: name!, content: value! }))),
  }
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
