import { OutboxError } from '../errors.ts'
import type { Row } from '../store/index.ts'

// Limits how many claimed rows are remembered. When a row is forgotten, its lease has run out.
const maxRows = 10_000

/**
 * Rows that `claimBatch` handed out. They let a caller settle a row by its id, under the lease of its claim.
 */
export class ClaimedRows {
  readonly #rows = new Map<string, Row>()

  add(row: Row): void {
    this.#rows.delete(row.eventId)
    this.#rows.set(row.eventId, row)
    if (this.#rows.size > maxRows) this.#rows.delete(this.#rows.keys().next().value!)
  }

  /**
   * Returns the row as it was claimed. Throws `OUTBOX_LEASE_LOST` if it was not claimed here, or is already
   * settled.
   */
  get(id: string): Row {
    const row = this.#rows.get(id)
    if (row !== undefined) return row
    throw new OutboxError(
      'OUTBOX_LEASE_LOST',
      `Mail ${id} is not held: claimBatch() has not handed it out here, or it was marked already.`,
    )
  }

  delete(id: string): void {
    this.#rows.delete(id)
  }
}
