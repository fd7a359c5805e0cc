import type { FencedRow, HeldRow } from '../../../store/index.ts'
import { maxDelayMs } from '../../../store/rows.ts'

// The range of a DATETIME.
const earliest = Date.UTC(1000, 0, 1)
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** A time as a DATETIME in UTC, which means the same in every time zone of a connection. */
export function timeValue(ms: number): string {
  const time = Math.min(Math.max(Math.ceil(ms), earliest), latest)
  return new Date(time).toISOString().slice(0, -1)
}

/**
 * A duration in microseconds that statements add to a clock of whole milliseconds. It is rounded up so that
 * nothing ends too early. A missing duration stays missing.
 */
export function durationValue(ms: number): number {
  return ms > 0 ? Math.min(Math.ceil(ms) + 1, maxDelayMs) * 1_000 : 0
}

/** An age in microseconds, not rounded. */
export function ageValue(ms: number): number {
  return Math.round(Math.min(ms, maxDelayMs) * 1_000)
}

/** Numbers as a list in SQL. Only numbers that the store itself made get here. */
export function numberList(numbers: readonly number[]): string {
  return numbers.map((number) => String(Number(number))).join()
}

/** As many placeholders as there are values. */
export function placeholders(count: number): string {
  return Array.from({ length: count }, () => '?').join()
}

// MariaDB turns lists of a thousand into joins with their values, and then reads and locks whole tables.
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
 * Returns the items in the order of `seq`, in which all statements lock rows. So two statements that change
 * the same rows never wait for each other in a circle.
 */
export function inSeqOrder<Item>(items: readonly Item[], rowOf: (item: Item) => HeldRow): Item[] {
  return [...items].sort((a, b) => rowOf(a).seq - rowOf(b).seq)
}

/** The conditions called `rows` and `fences`. */
export function fencesOf(rows: readonly FencedRow[]): [rows: string, fences: string] {
  return [rowsOf(rows.map((row) => row.seq)), fenceCondition(rows)]
}

// Mostly all rows are delivered for the first time. Then a tenth of the text is enough.
function fenceCondition(rows: readonly FencedRow[]): string {
  const deliveries = rows[0]?.deliveries
  if (rows.every((row) => row.deliveries === deliveries)) return `deliveries = ${numberList([deliveries!])}`

  const fences = rows.map((row) => `(${numberList([row.seq, row.deliveries])})`)
  return isAmong('(seq, deliveries)', fences)
}
