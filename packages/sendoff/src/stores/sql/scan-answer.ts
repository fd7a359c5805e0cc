import {
  idTimeMarginMs,
  type LookFilter,
  type ScanAnswer,
  type ScanPlace,
  type StoredRow,
} from '../../store/index.ts'
import { ulidStart } from './ulid-time.ts'

/**
 * Makes the answer of a scan that read one row more than its limit, as far as `end`. `end` is the last row of
 * its window; undefined if the window holds everything.
 */
export function scanAnswer(
  found: readonly StoredRow[],
  limit: number,
  end: ScanPlace | undefined,
): ScanAnswer {
  const rows = found.slice(0, Math.max(0, limit))
  return { rows, next: found.length > rows.length ? placeOf(rows.at(-1)!) : end }
}

/** Returns the lowest and the highest id that a scan in the order of ids has to examine. */
export function idRange({ eventId, since, until }: LookFilter): [low: string, high: string] {
  if (eventId !== undefined) return [eventId, eventId]
  return [
    since === undefined ? '' : ulidStart(since - idTimeMarginMs),
    until === undefined ? highestText : ulidStart(until + idTimeMarginMs),
  ]
}

/** A text behind all ids. */
export const highestText = '\u{10ffff}'

function placeOf({ eventId, destination, seq }: StoredRow): ScanPlace {
  return { eventId, destination, seq }
}
