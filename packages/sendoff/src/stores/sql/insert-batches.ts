import type { NewRow } from '../../store/index.ts'

/** The most that one statement takes. */
export interface BatchLimits {
  readonly rows: number
  readonly characters: number
  /** What counts for a row beside its payload. Default: nothing. */
  readonly charactersBesidePayload?: number
}

/** Divides rows, in the given order, into batches that fit one statement. */
export function* insertBatches(rows: readonly NewRow[], most: BatchLimits): Iterable<readonly NewRow[]> {
  let batch: NewRow[] = []
  let characters = 0
  for (const row of rows) {
    const length = row.payload.length + (most.charactersBesidePayload ?? 0)
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
