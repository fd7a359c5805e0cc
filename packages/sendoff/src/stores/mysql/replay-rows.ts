import type { RowId } from '../../store/index.ts'
import type { StoreDriver } from './drivers/mysql-driver.ts'
import { distinctRowIds, rowIdCondition } from './sql/row-ids.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** Replays DEAD rows. Returns how many it replayed. */
export async function replayRows(
  driver: StoreDriver,
  { replay }: MysqlStatements,
  ids: readonly RowId[],
): Promise<number> {
  if (ids.length === 0) return 0

  const { condition, values } = rowIdCondition(distinctRowIds(ids))
  return driver.briefly(async (session) => (await session.run(replay(condition), values)).affectedRows)
}
