import type { PauseTarget } from '../../store.ts'
import type { PreparedStatements } from './statements.ts'

export function pause(statements: PreparedStatements, target: PauseTarget, now: number): void {
  statements.pause.run(...controlOf(target), now)
}

export function resume(statements: PreparedStatements, target: PauseTarget): void {
  statements.resume.run(...controlOf(target))
}

export function paused(statements: PreparedStatements): readonly PauseTarget[] {
  const controls = statements.paused.all() as { kind: string; name: string }[]
  return controls.map(({ kind, name }) =>
    kind === 'pauseType' ? { eventType: name } : { destination: name },
  )
}

function controlOf(target: PauseTarget): [kind: string, name: string] {
  return 'eventType' in target ? ['pauseType', target.eventType] : ['pauseDestination', target.destination]
}
