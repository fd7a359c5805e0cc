import type { NodeAnswer, NodeRequest, OutboxNodes } from '../../store/index.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { PreparedStatements } from './sql/statements.ts'
import { knownControls } from './sqlite-controls.ts'

/** The processes that use the table of an SQLite store. */
export function sqliteNodes(own: OwnDriver): OutboxNodes {
  return {
    join: (node) => own.write((statements, now) => joinNode(statements, node, now)),
    leave: (id) => own.write(({ leaveNode }) => void leaveNode.run(id)),
  }
}

/**
 * Registers a process, unless living processes have another mode. The transaction around it keeps others out
 * meanwhile.
 */
function joinNode(statements: PreparedStatements, { id, mode, ttlMs }: NodeRequest, now: number): NodeAnswer {
  statements.forgetNodes.run(now)
  const others = statements.nodesOfOtherMode.all(id, mode) as { id: string; mode: string }[]
  const [first] = others
  if (first !== undefined) {
    return { kind: 'conflict', mode: first.mode, nodes: others.map((other) => other.id) }
  }

  statements.joinNode.run(id, mode, now, Math.ceil(now + ttlMs))
  const { mode: lastMode, ...controls } = knownControls(statements)
  if (mode !== null && mode !== lastMode) {
    statements.forgetMode.run()
    statements.setControl.run('mode', mode, now)
  }
  return { kind: 'joined', ...controls, mode: mode ?? lastMode }
}
