import type { RowKey } from '../../store.ts'
import type { PreparedStatements } from './statements.ts'

/** Brings DEAD rows back and answers how many there were. */
export function replayRows({ replay }: PreparedStatements, keys: readonly RowKey[], now: number): number {
  return keys.reduce(
    (count, { eventId, destination }) => count + Number(replay.run(now, eventId, destination).changes),
    0,
  )
}
