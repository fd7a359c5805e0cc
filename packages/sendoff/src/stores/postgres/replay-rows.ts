import type { RowKey } from '../../store.ts'
import type { PostgresSession } from './postgres-driver.ts'
import { keyValues } from './row-keys.ts'
import type { PostgresStatements } from './statements.ts'

/** Brings DEAD rows back and answers how many there were. */
export async function replayRows(
  session: PostgresSession,
  { replay }: PostgresStatements,
  keys: readonly RowKey[],
): Promise<number> {
  if (keys.length === 0) return 0

  const [answer] = await session.run(replay, keyValues(keys))
  return Number(answer![0])
}
