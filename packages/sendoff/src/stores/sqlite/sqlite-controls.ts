import {
  latestRouting,
  type OutboxControls,
  type PauseTarget,
  type StoredRouting,
} from '../../store/index.ts'
import { addEntry } from './audit-entries.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** The controls of an SQLite store. */
export function sqliteControls(own: OwnDriver): OutboxControls {
  return {
    pause: (target, audit) =>
      own.write((statements, now) => {
        statements.setControl.run(...controlOf(target), now)
        if (audit !== undefined) addEntry(statements, audit, [], now)
      }),
    resume: (target, audit) =>
      own.write((statements, now) => {
        statements.liftControl.run(...controlOf(target))
        if (audit !== undefined) addEntry(statements, audit, [], now)
      }),
    paused: () => own.read((statements) => knownControls(statements).paused),
  }
}

/** Returns the pauses, the last mode that a process joined with, and the routing. */
export function knownControls(statements: PreparedStatements): {
  paused: readonly PauseTarget[]
  mode: string | null
  routing: StoredRouting | null
} {
  const controls = statements.controls.all() as { kind: string; name: string; content: string }[]
  const pauses = controls.filter(({ kind }) => kind.startsWith('pause'))
  return {
    paused: pauses.map(({ kind, name }) =>
      kind === 'pauseType' ? { eventType: name } : { destination: name },
    ),
    mode: controls.find(({ kind }) => kind === 'mode')?.name ?? null,
    routing: latestRouting(controls.filter(({ kind }) => kind === 'routing')),
  }
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
