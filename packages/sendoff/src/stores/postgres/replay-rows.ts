import type { RowId } from '../../store/index.ts'
import type { PostgresSession } from './drivers/postgres-driver.ts'
import { keyValues } from './sql/row-keys.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Brings DEAD rows back and answers how many there were. */
export async function replayRows(
  session: PostgresSession,
  { replay }: PostgresStatements,
  keys: readonly RowId[],
): Promise<number> {
  if (keys.length === 0) return 0

  const [answer] = await session.run(replay, keyValues(keys))
  return Number(answer![0])
}
