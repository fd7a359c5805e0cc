import { OutboxError } from '../errors.ts'
import type { HeldRow, OwnerFence, Row } from '../store/index.ts'

/** The right to work on rows until a given moment, renewed in the background. */
export interface Holding {
  /** By the monotonic clock, counted from before the request that granted it. */
  readonly validUntil: number
  /** That of the partition, where the right is to one. */
  readonly epoch?: number
  /** Proof of the lock that the right comes from, if it comes from one. */
  readonly fence?: OwnerFence
}

export type DeliverySource = 'hot' | 'cold'

/**
 * One row that this process holds, from the moment it is queued until the store has acknowledged its settlement.
 */
export class Delivery {
  readonly row: Row
  readonly source: DeliverySource
  /** That of the partition under which the row was read without a claim. */
  readonly epoch: number | undefined
  ended = false
  /** Whether the in-flight tracker has this very delivery: told here, since looking it up costs as much as removing it. */
  isTracked = false
  /** Whether it was settled as delivered. */
  hasSucceeded = false
  #lock: Holding | undefined
  #lockedBy: string | null
  #deliveries: number
  #attempts: number
  #leaseUntil: number
  #lost = false
  #aborter: AbortController | undefined
  #abortReason: OutboxError | undefined
  #onAbort: ((reason: OutboxError) => void) | undefined

  constructor(row: Row, source: DeliverySource, holding: Holding) {
    this.row = row
    this.source = source
    this.#lock = row.lockedBy === null ? holding : undefined
    this.epoch = this.#lock?.epoch
    this.#lockedBy = row.lockedBy
    this.#deliveries = row.deliveries
    this.#attempts = row.attempts
    this.#leaseUntil = holding.validUntil
  }

  get rowId(): string {
    return rowIdOf(this.row)
  }

  get seq(): number {
    return this.row.seq
  }

  /** The lock under which the row was read without a claim; undefined for a leased row. */
  get lock(): Holding | undefined {
    return this.#lock
  }

  /** The fence of the row, as it is now. */
  get deliveries(): number {
    return this.#deliveries
  }

  /** As the store needs it for settling, renewing and releasing. */
  get held(): HeldRow {
    const { eventId, destination, seq, partitionNo } = this.row
    return {
      eventId,
      destination,
      seq,
      lockedBy: this.#lockedBy,
      partitionNo,
      deliveries: this.#deliveries,
      epoch: this.#lock?.epoch,
    }
  }

  /**
   * Whether the row may be what ended the processes that had it: so many vanished in a row. It then runs alone.
   */
  get isSuspect(): boolean {
    return isSuspect(this.row)
  }

  get leaseUntil(): number {
    return this.#leaseUntil
  }

  /** Whether surely no other process holds the row at this moment. */
  isHeld(now: number): boolean {
    return !this.#lost && now < (this.#lock === undefined ? this.#leaseUntil : this.#lock.validUntil)
  }

  get isLost(): boolean {
    return this.#lost
  }

  leaseRenewed(until: number): void {
    this.#leaseUntil = until
  }

  /** This process has claimed the row while still holding it: carry on with the new lease. */
  claimedAgain(row: Row, until: number): void {
    // Answers may come in another order than the claims were made.
    if (row.deliveries < this.#deliveries) return
    this.#lock = undefined
    this.#lockedBy = row.lockedBy
    this.#deliveries = row.deliveries
    this.#attempts = row.attempts
    this.#leaseUntil = until
    this.#lost = false
  }

  /**
   * Whether attempts were counted since the row got here: by those who held it meanwhile, or by a
   * settlement of this very delivery whose answer was lost.
   */
  get isOutdated(): boolean {
    return this.#attempts !== this.row.attempts
  }

  /** Another process may hold the row from now on. */
  lose(): void {
    if (this.#lost) return
    this.#lost = true
    this.abort(
      new OutboxError(
        'OUTBOX_LEASE_LOST',
        `The lease on event ${this.row.eventId} was lost: stop working on it.`,
      ),
    )
  }

  abort(reason: OutboxError): void {
    this.#abortReason ??= reason
    this.#aborter?.abort(this.#abortReason)
    this.#onAbort?.(this.#abortReason)
  }

  /** Calls back when the listener is told to stop, at once if it was before: what a batch shares, a signal for each being dear. */
  onAbort(callback: (reason: OutboxError) => void): void {
    this.#onAbort = callback
    if (this.#abortReason !== undefined) callback(this.#abortReason)
  }

  /** Why the listener was told to stop, if it was. */
  get abortReason(): OutboxError | undefined {
    return this.#abortReason
  }

  /** Made when a listener first asks for it: most never do, and it is not free. */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      this.#aborter = new AbortController()
      if (this.#abortReason !== undefined) this.#aborter.abort(this.#abortReason)
    }
    return this.#aborter.signal
  }
}

/** So many vanished holders make an event a suspect. */
const suspectLosses = 3

export function isSuspect({ losses }: Row): boolean {
  return losses >= suspectLosses
}

export function rowIdOf({ eventId, destination }: { eventId: string; destination: string }): string {
  return destination === '' ? eventId : `${eventId}/${destination}`
}
