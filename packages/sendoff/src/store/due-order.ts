import type { Bounds } from './owners.ts'
import type { DuePlace } from './rows.ts'

/** Compares two places in due order, for sorting. */
export function inDueOrder(a: DuePlace, b: DuePlace): number {
  return a.availableAt - b.availableAt || a.seq - b.seq
}

/** Returns the place right behind a row. */
export function placeBehind({ availableAt, seq }: DuePlace): DuePlace {
  return { availableAt, seq: seq + 1 }
}

/**
 * Returns where the next `claimTypes` continues after one that took `rows`. If the window ended that claim,
 * `last` is the last row that it examined. `last` is undefined if the claim examined everything due.
 */
export function nextPlace(
  rows: readonly DuePlace[],
  limit: number,
  last: DuePlace | undefined,
): DuePlace | undefined {
  const end = rows.length < limit ? last : rows.at(-1)
  return end && placeBehind(end)
}

/** Returns the bounds of `held` and `rows` together; null if both are empty. */
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

/**
 * Builds bounds from four values: due time and `seq` of the low end, then of the high end. Returns null if
 * they are null.
 */
export function boundsOfEnds(ends: readonly unknown[]): Bounds | null {
  if (ends[0] === null) return null
  const [lowAt, lowSeq, highAt, highSeq] = ends.map(Number) as [number, number, number, number]
  return { low: { availableAt: lowAt, seq: lowSeq }, high: { availableAt: highAt, seq: highSeq } }
}
