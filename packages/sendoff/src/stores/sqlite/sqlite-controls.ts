import type { OutboxControls, PauseTarget } from '../../store/index.ts'
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
    paused: () => own.read((statements) => pausesAndMode(statements).paused),
  }
}

/** Returns the pauses, and the last mode that a process joined with. */
export function pausesAndMode(statements: PreparedStatements): {
  paused: readonly PauseTarget[]
  mode: string | null
} {
  const controls = statements.pausesAndMode.all() as { kind: string; name: string }[]
  const pauses = controls.filter(({ kind }) => kind !== 'mode')
  return {
    paused: pauses.map(({ kind, name }) =>
      kind === 'pauseType' ? { eventType: name } : { destination: name },
    ),
    mode: controls.find(({ kind }) => kind === 'mode')?.name ?? null,
  }
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
