import type { NodeAnswer, NodeRequest } from '../../store.ts'
import type { MysqlDriver, MysqlSession } from './mysql-driver.ts'
import { paused } from './mysql-controls.ts'
import { durationValue } from './statement-values.ts'
import type { MysqlStatements } from './statements.ts'

/** Registers a process unless living ones have another mode. Mostly it is registered already: one statement then. */
export async function joinNode<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  node: NodeRequest,
): Promise<NodeAnswer> {
  const { id, mode, ttlMs } = node
  const kept = await driver.run(statements.keepNode, [durationValue(ttlMs), id, mode])
  if (kept.affectedRows > 0) return { kind: 'joined', paused: await paused(driver, statements) }

  return driver.briefly((session) => joinAlone(session, statements, node))
}

async function joinAlone(
  session: MysqlSession,
  statements: MysqlStatements,
  { id, mode, ttlMs }: NodeRequest,
): Promise<NodeAnswer> {
  await session.run(statements.lockNodes)
  await session.run(statements.forgetNodes)
  const { rows: others } = await session.run(statements.nodesOfOtherMode, [id, mode])
  const [first] = others
  if (first !== undefined) {
    return { kind: 'conflict', mode: String(first[1]), nodes: others.map(([other]) => String(other)) }
  }

  const until = durationValue(ttlMs)
  await session.run(statements.joinNode, [id, mode, until, mode, until])
  return { kind: 'joined', paused: await paused(session, statements) }
}
