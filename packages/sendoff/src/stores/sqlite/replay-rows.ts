import type { RowId } from '../../store/index.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Brings DEAD rows back and answers how many there were. */
export function replayRows({ replay }: PreparedStatements, keys: readonly RowId[], now: number): number {
  return keys.reduce(
    (count, { eventId, destination }) => count + Number(replay.run(now, eventId, destination).changes),
    0,
  )
}
