import type { HeldRow } from '../../store.ts'

/** A row's number and its fence. */
export type Fenced = Pick<HeldRow, 'seq' | 'deliveries'>

/** Rows that were written one after another and have the same fence. */
type Run = [firstSeq: number, deliveries: number, count: number]

/**
 * What an owner holds, as its lock row remembers it: runs of rows as JSON, null for nothing. Mostly there are few, since what is in
 * hand was written at about the same time. Leased rows are left out: the end of a lease tells of its loss by itself.
 */
export function heldText(rows: readonly HeldRow[]): string | null {
  const unleased = rows.filter((row) => row.lockedBy === null).sort((a, b) => a.seq - b.seq)
  const runs: Run[] = []
  for (const { seq, deliveries } of unleased) {
    const last = runs.at(-1)
    if (last !== undefined && seq === last[0] + last[2] && deliveries === last[1]) last[2] += 1
    else runs.push([seq, deliveries, 1])
  }
  return runs.length === 0 ? null : JSON.stringify(runs)
}

/** The rows that a lock row remembers. */
export function heldInText(text: string | null): readonly Fenced[] {
  const runs = text === null ? [] : (JSON.parse(text) as Run[])
  return runs.flatMap(([firstSeq, deliveries, count]) =>
    Array.from({ length: count }, (_, index) => ({ seq: firstSeq + index, deliveries })),
  )
}

/** The same as pairs of number and fence in JSON, for a statement. */
export function heldPairs(text: string): string {
  return JSON.stringify(heldInText(text).map(({ seq, deliveries }) => [seq, deliveries]))
}
