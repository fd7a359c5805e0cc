import type { NodeAnswer, NodeRequest, OutboxNodes } from '../../store/index.ts'
import type { MysqlSession, StoreDriver } from './drivers/mysql-driver.ts'
import { knownControls } from './mysql-controls.ts'
import { durationValue } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The processes that use a MySQL store. */
export function mysqlNodes(driver: StoreDriver, statements: MysqlStatements): OutboxNodes {
  return {
    join: (node) => joinNode(driver, statements, node),
    leave: async (id) => void (await driver.run(statements.leaveNode, [id])),
  }
}

/**
 * Registers a process, unless living processes have another mode. Mostly it is registered already, and one
 * statement is enough.
 */
async function joinNode(
  driver: StoreDriver,
  statements: MysqlStatements,
  node: NodeRequest,
): Promise<NodeAnswer> {
  const { id, mode, ttlMs } = node
  const kept = await driver.run(statements.keepNode, [durationValue(ttlMs), id, mode])
  if (kept.affectedRows > 0) return { kind: 'joined', ...(await knownControls(driver, statements)) }

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
  const { mode: lastMode, ...controls } = await knownControls(session, statements)
  if (mode !== null && mode !== lastMode) {
    await session.run(statements.forgetMode)
    await session.run(statements.setControl, ['mode', Buffer.from(mode)])
  }
  return { kind: 'joined', ...controls, mode: mode ?? lastMode }
}
