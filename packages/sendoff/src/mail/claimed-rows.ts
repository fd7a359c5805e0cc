import { OutboxError } from '../errors.ts'
import type { Row } from '../store/index.ts'

// What was claimed and never marked is forgotten at some point; its lease has run out by then.
const maxRows = 10_000

/** The rows that were handed out, so that their ids are enough to settle them under the leases they were claimed with. */
export class ClaimedRows {
  readonly #rows = new Map<string, Row>()

  add(row: Row): void {
    this.#rows.delete(row.eventId)
    this.#rows.set(row.eventId, row)
    if (this.#rows.size > maxRows) this.#rows.delete(this.#rows.keys().next().value!)
  }

  /** The row as it was claimed. Throws `OUTBOX_LEASE_LOST` where it was not, or is settled already. */
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
