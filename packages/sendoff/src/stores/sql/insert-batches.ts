import type { NewRow } from '../../store/index.ts'

/** How much goes into one statement at most. */
export interface BatchLimits {
  readonly rows: number
  readonly characters: number
}

/** Rows in the given order, as many at a time as one statement takes. */
export function* insertBatches(rows: readonly NewRow[], most: BatchLimits): Iterable<readonly NewRow[]> {
  let batch: NewRow[] = []
  let characters = 0
  for (const row of rows) {
    const { length } = row.payload
    if (batch.length === most.rows || (batch.length > 0 && characters + length > most.characters)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(row)
    characters += length
  }
  if (batch.length > 0) yield batch
}
