import type { FencedRow } from '../../store/index.ts'

/** Rows that were written one after another and have the same fence. */
type Run = [firstSeq: number, deliveries: number, count: number]

/**
 * Writes the rows that an owner holds as text for its lock row: runs of rows as JSON, or null for none. There
 * are mostly few runs, since the rows that an owner holds were written at about the same time.
 */
export function heldText(rows: readonly FencedRow[]): string | null {
  if (rows.length === 0) return null
  const seqs = new Map<number, number[]>()
  for (const { seq, deliveries } of rows) {
    const alike = seqs.get(deliveries)
    if (alike === undefined) seqs.set(deliveries, [seq])
    else alike.push(seq)
  }
  return JSON.stringify([...seqs].flatMap(([deliveries, alike]) => runsOf(alike, deliveries)))
}

// Plain numbers sort several times as fast as objects that contain them.
function runsOf(numbers: readonly number[], deliveries: number): Run[] {
  const runs: Run[] = []
  let last: Run | undefined
  for (const seq of Float64Array.from(numbers).sort()) {
    if (last !== undefined && seq === last[0] + last[2]) last[2] += 1
    else runs.push((last = [seq, deliveries, 1]))
  }
  return runs
}

/** Reads the rows that a lock row records. */
export function heldInText(text: string | null): readonly FencedRow[] {
  const runs = text === null ? [] : (JSON.parse(text) as Run[])
  return runs.flatMap(([firstSeq, deliveries, count]) =>
    Array.from({ length: count }, (_, index) => ({ seq: firstSeq + index, deliveries })),
  )
}

/** Returns the same as pairs of `seq` and fence in JSON, for a statement. */
export function heldPairs(text: string): string {
  return JSON.stringify(heldInText(text).map(({ seq, deliveries }) => [seq, deliveries]))
}
