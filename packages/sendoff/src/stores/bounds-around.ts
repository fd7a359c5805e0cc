import type { Bounds, Row } from '../store.ts'

/** The bounds of what is held already together with `rows`; null for nothing at all. */
export function boundsAround(held: Bounds | null, rows: readonly Pick<Row, 'seq'>[]): Bounds | null {
  if (held === null && rows.length === 0) return null

  let { lowSeq, highSeq } = held ?? { lowSeq: Infinity, highSeq: -Infinity }
  for (const { seq } of rows) {
    if (seq < lowSeq) lowSeq = seq
    if (seq > highSeq) highSeq = seq
  }
  return { lowSeq, highSeq }
}
