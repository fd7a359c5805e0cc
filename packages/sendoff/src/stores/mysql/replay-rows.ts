import type { RowId } from '../../store/index.ts'
import type { MysqlDriver } from './drivers/mysql-driver.ts'
import { distinctKeys, keyCondition } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** Brings DEAD rows back and answers how many there were. */
export async function replayRows<Tx extends object>(
  driver: MysqlDriver<Tx>,
  { replay }: MysqlStatements,
  keys: readonly RowId[],
): Promise<number> {
  if (keys.length === 0) return 0

  const { condition, values } = keyCondition(distinctKeys(keys))
  return driver.briefly(async (session) => (await session.run(replay(condition), values)).affectedRows)
}
