import type { Bounds } from './owners.ts'
import type { DuePlace } from './rows.ts'

/** Compares two places for sorting. */
export function inDueOrder(a: DuePlace, b: DuePlace): number {
  return a.availableAt - b.availableAt || a.seq - b.seq
}

/** The place right behind a row. */
export function placeBehind({ availableAt, seq }: DuePlace): DuePlace {
  return { availableAt, seq: seq + 1 }
}

/**
 * The place where the next `claimTypes` goes on, after one that took `rows`. `last` is the last row that it examined where the window
 * ended it; undefined where it examined everything due.
 */
export function nextPlace(
  rows: readonly DuePlace[],
  limit: number,
  last: DuePlace | undefined,
): DuePlace | undefined {
  const end = rows.length < limit ? last : rows.at(-1)
  return end && placeBehind(end)
}

/** The bounds of what is held already together with `rows`; null for nothing at all. */
export function boundsAround(held: Bounds | null, rows: readonly DuePlace[]): Bounds | null {
  let bounds = held
  for (const { availableAt, seq } of rows) {
    const place = { availableAt, seq }
    bounds ??= { low: place, high: place }
    if (inDueOrder(place, bounds.low) < 0) bounds = { ...bounds, low: place }
    if (inDueOrder(place, bounds.high) > 0) bounds = { ...bounds, high: place }
  }
  return bounds
}

/** Whether two bounds are the same. */
export function sameBounds(a: Bounds | null, b: Bounds | null): boolean {
  if (a === null || b === null) return a === b
  return inDueOrder(a.low, b.low) === 0 && inDueOrder(a.high, b.high) === 0
}

/** The bounds with these ends: due time and number of the low one, and of the high one; null where they are. */
export function boundsOfEnds(ends: readonly unknown[]): Bounds | null {
  if (ends[0] === null) return null
  const [lowAt, lowSeq, highAt, highSeq] = ends.map(Number) as [number, number, number, number]
  return { low: { availableAt: lowAt, seq: lowSeq }, high: { availableAt: highAt, seq: highSeq } }
}
