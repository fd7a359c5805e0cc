import type { RowId } from '../../store/index.ts'
import type { PostgresSession } from './drivers/postgres-driver.ts'
import { rowIdValues } from './sql/row-ids.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Replays DEAD rows. Returns how many it replayed. */
export async function replayRows(
  session: PostgresSession,
  { replay }: PostgresStatements,
  rows: readonly RowId[],
): Promise<number> {
  if (rows.length === 0) return 0

  const [answer] = await session.run(replay, rowIdValues(rows))
  return Number(answer![0])
}
