import type { NodeAnswer, NodeRequest, OutboxNodes } from '../../store/index.ts'
import type { PostgresDriver, PostgresSession } from './drivers/postgres-driver.ts'
import { knownControls } from './postgres-controls.ts'
import { roundedUp } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The processes that use a PostgreSQL store. */
export function postgresNodes<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
): OutboxNodes {
  return {
    join: (node) => joinNode(driver, statements, node),
    leave: async (id) => void (await driver.run(statements.leaveNode, [id])),
  }
}

/**
 * Registers a process, unless living processes have another mode. Mostly it is registered already, and one
 * statement is enough.
 */
async function joinNode<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
  node: NodeRequest,
): Promise<NodeAnswer> {
  const { id, mode, ttlMs } = node
  const kept = await driver.run(statements.keepNode, [id, mode, roundedUp(ttlMs)])
  if (kept.length > 0) return { kind: 'joined', ...knownControls(kept) }

  return driver.transaction((tx) => joinAlone(driver.session(tx), statements, node))
}

async function joinAlone(
  session: PostgresSession,
  statements: PostgresStatements,
  { id, mode, ttlMs }: NodeRequest,
): Promise<NodeAnswer> {
  await session.run(statements.lockNodes)
  await session.run(statements.forgetNodes)
  const others = await session.run(statements.nodesOfOtherMode, [id, mode])
  const [first] = others
  if (first !== undefined) {
    return { kind: 'conflict', mode: first[1]!, nodes: others.map(([other]) => other!) }
  }

  await session.run(statements.joinNode, [id, mode, roundedUp(ttlMs)])
  if (mode !== null) await session.run(statements.recordMode, [mode])
  return { kind: 'joined', ...knownControls(await session.run(statements.controls)) }
}
