import type { PauseTarget } from '../../store/index.ts'
import type { PreparedStatements } from './sql/statements.ts'

export function pause(statements: PreparedStatements, target: PauseTarget, now: number): void {
  statements.setControl.run(...controlOf(target), now)
}

export function resume(statements: PreparedStatements, target: PauseTarget): void {
  statements.liftControl.run(...controlOf(target))
}

export function paused(statements: PreparedStatements): readonly PauseTarget[] {
  return pausesAndMode(statements).paused
}

/** What is paused, and the last mode that anybody joined with. */
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
