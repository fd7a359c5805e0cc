import type { RowKey } from '../../store.ts'
import type { MysqlDriver } from './mysql-driver.ts'
import { distinctKeys, keyCondition } from './statement-values.ts'
import type { MysqlStatements } from './statements.ts'

/** Brings DEAD rows back and answers how many there were. */
export async function replayRows<Tx extends object>(
  driver: MysqlDriver<Tx>,
  { replay }: MysqlStatements,
  keys: readonly RowKey[],
): Promise<number> {
  if (keys.length === 0) return 0

  const { condition, values } = keyCondition(distinctKeys(keys))
  return driver.briefly(async (session) => (await session.run(replay(condition), values)).affectedRows)
}
