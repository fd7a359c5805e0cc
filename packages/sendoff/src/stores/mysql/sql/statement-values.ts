import { maxDelayMs } from '../../../store/rows.ts'
import type { HeldRow, RowId } from '../../../store/index.ts'
import type { Value } from '../drivers/mysql-driver.ts'

// What a DATETIME can hold.
const earliest = Date.UTC(1000, 0, 1)
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** A time as a DATETIME in UTC, which means the same whatever time zone a connection has. */
export function timeValue(ms: number): string {
  const time = Math.min(Math.max(Math.ceil(ms), earliest), latest)
  return new Date(time).toISOString().slice(0, -1)
}

/**
 * A duration in microseconds that statements add to a clock of whole milliseconds: so that it is rounded
 * up, and nothing comes to an end too early. No duration at all stays none.
 */
export function durationValue(ms: number): number {
  return ms > 0 ? Math.min(Math.ceil(ms) + 1, maxDelayMs) * 1_000 : 0
}

/** A duration in microseconds as it is: an age. */
export function ageValue(ms: number): number {
  return Math.round(Math.min(ms, maxDelayMs) * 1_000)
}

/** Numbers as they stand in a list. Nothing but numbers of our own gets here. */
export function numberList(numbers: readonly number[]): string {
  return numbers.map((number) => String(Number(number))).join()
}

/** As many placeholders as there are values. */
export function placeholders(count: number): string {
  return Array.from({ length: count }, () => '?').join()
}

// MariaDB turns lists of a thousand into joins with what is in them, and then reads and locks whole tables.
const longestList = 500

/** The condition that `columns` are among `items`. */
export function isAmong(columns: string, items: readonly string[]): string {
  const lists: string[] = []
  for (let start = 0; start < items.length; start += longestList) {
    lists.push(`${columns} in (${items.slice(start, start + longestList).join()})`)
  }
  return `(${lists.join(' or ')})`
}

/** The condition called `rows`. */
export function rowsOf(seqs: readonly number[]): string {
  return isAmong('seq', seqs.map(String))
}

/**
 * In the order of `seq`: the order in which all statements lock rows, so that two that change the same
 * ones never wait for each other in a circle.
 */
export function inSeqOrder<Item>(items: readonly Item[], rowOf: (item: Item) => HeldRow): Item[] {
  return [...items].sort((a, b) => rowOf(a).seq - rowOf(b).seq)
}

/** Keys as pairs of values, each once. */
export function distinctKeys(keys: readonly RowId[]): readonly RowId[] {
  return [...new Map(keys.map((key) => [rowName(key), key])).values()]
}

export function rowName({ eventId, destination }: RowId): string {
  return `${eventId}\n${destination}`
}

/** The condition called `keyed` and its parameters. */
export function keyCondition(keys: readonly RowId[]): { condition: string; values: Value[] } {
  const ids = [...new Set(keys.map((key) => key.eventId))]
  const hasId = isAmong(
    'event_id',
    ids.map(() => '?'),
  )
  const { destination } = keys[0]!
  if (keys.every((key) => key.destination === destination)) {
    return { condition: `${hasId} and destination = ?`, values: [...ids, destination] }
  }

  const isKey = isAmong(
    '(event_id, destination)',
    keys.map(() => '(?, ?)'),
  )
  return {
    // The ids alone can be looked up in the index by every version of either server.
    condition: `${hasId}
     and ${isKey}`,
    values: [...ids, ...keys.flatMap((key) => [key.eventId, key.destination])],
  }
}
