import type { HeldRow } from '../../store.ts'

/** A row's number and its fence. */
export type Fenced = Pick<HeldRow, 'seq' | 'deliveries'>

/**
 * What an owner holds, as its lock row remembers it: pairs of a row's number and its fence as JSON, null for nothing.
 * Leased rows are left out, since the end of a lease tells of its loss by itself.
 */
export function heldText(rows: readonly HeldRow[]): string | null {
  const unleased = rows.filter((row) => row.lockedBy === null)
  return unleased.length === 0
    ? null
    : JSON.stringify(unleased.map(({ seq, deliveries }) => [seq, deliveries]))
}

/** The rows that a lock row remembers. */
export function heldInText(text: string | null): readonly Fenced[] {
  const pairs = text === null ? [] : (JSON.parse(text) as [seq: number, deliveries: number][])
  return pairs.map(([seq, deliveries]) => ({ seq, deliveries }))
}
