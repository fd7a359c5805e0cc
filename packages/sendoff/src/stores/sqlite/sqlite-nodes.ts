import type { NodeAnswer, NodeRequest } from '../../store/index.ts'
import { pausesAndMode } from './sqlite-controls.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Registers a process unless living ones have another mode. The transaction around it keeps others out meanwhile. */
export function joinNode(
  statements: PreparedStatements,
  { id, mode, ttlMs }: NodeRequest,
  now: number,
): NodeAnswer {
  statements.forgetNodes.run(now)
  const others = statements.nodesOfOtherMode.all(id, mode) as { id: string; mode: string }[]
  const [first] = others
  if (first !== undefined) {
    return { kind: 'conflict', mode: first.mode, nodes: others.map((other) => other.id) }
  }

  statements.joinNode.run(id, mode, now, Math.ceil(now + ttlMs))
  const { paused, mode: lastMode } = pausesAndMode(statements)
  if (mode !== null && mode !== lastMode) {
    statements.forgetMode.run()
    statements.setControl.run('mode', mode, now)
  }
  return { kind: 'joined', paused, mode: mode ?? lastMode }
}
