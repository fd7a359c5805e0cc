import { OutboxError } from '../errors.ts'
import type { TracedCall } from '../observe/tracing.ts'
import type { HeldRow, OwnerFence, Row } from '../store/index.ts'

/** The right to work on rows until a given moment. This process renews it in the background. */
export interface Holding {
  /** When the right ends, by the monotonic clock. The term counts from before the request was sent. */
  readonly validUntil: number
  /** The epoch of the partition, if the right covers one. */
  readonly epoch?: number
  /** The fence of the lock that grants the right, if a lock does. */
  readonly fence?: OwnerFence
}

/** Whether a delivery came straight from a commit (`hot`) or from the poller (`cold`). */
export type DeliverySource = 'hot' | 'cold'

/**
 * One row that this process holds, from the moment it is queued until the store has acknowledged its
 * settlement.
 */
export class Delivery {
  readonly row: Row
  readonly source: DeliverySource
  /** The epoch of the partition under which the row was read without a claim. */
  readonly epoch: number | undefined
  ended = false
  /**
   * Whether the in-flight tracker has this very delivery. We keep a flag, because a lookup costs as much as a
   * removal.
   */
  isTracked = false
  /** Whether the row was settled as delivered. */
  hasSucceeded = false
  /**
   * Ends when this process has claimed the row again, while its listener ran. The store may refuse a
   * settlement until then, because it names the old fence.
   */
  reclaim: Promise<void> | undefined
  /** How long its listener took; undefined while none has returned. */
  listenerMs: number | undefined
  /** Whether a `when` or `map` of the routing runs for it now. */
  isInRules = false
  /** Its span; undefined if it is not traced. */
  trace: TracedCall | undefined
  /** Runs code in the context that the event was written in; undefined if none is carried. */
  within: (<Result>(work: () => Result) => Result) | undefined
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

  /** The current fence of the row. */
  get deliveries(): number {
    return this.#deliveries
  }

  /** The row in the form that the store needs to settle, renew and release it. */
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
   * Whether the row is a suspect: with 3 losses or more, it may be what ended its holders. A suspect runs
   * alone.
   */
  get isSuspect(): boolean {
    return isSuspect(this.row)
  }

  get leaseUntil(): number {
    return this.#leaseUntil
  }

  /** Whether it is certain that no other process holds the row now. */
  isHeld(now: number): boolean {
    return !this.#lost && now < (this.#lock === undefined ? this.#leaseUntil : this.#lock.validUntil)
  }

  get isLost(): boolean {
    return this.#lost
  }

  leaseRenewed(until: number): void {
    this.#leaseUntil = until
  }

  /** Continues with a new lease, after this process has claimed a row again that it still holds. */
  claimedAgain(row: Row, until: number): void {
    // Answers may arrive in a different order than the claims were sent.
    if (row.deliveries < this.#deliveries) return
    this.#lock = undefined
    this.#lockedBy = row.lockedBy
    this.#deliveries = row.deliveries
    this.#attempts = row.attempts
    this.#leaseUntil = until
    this.#lost = false
    // A listener that has not begun yet need not stop any more.
    if (this.#aborter === undefined && this.#onAbort === undefined) this.#abortReason = undefined
  }

  /**
   * Whether the store has counted attempts since this process got the row. They come from another holder, or
   * from a settlement of this very delivery whose answer was lost.
   */
  get isOutdated(): boolean {
    return this.#attempts !== this.row.attempts
  }

  /** Tells the listener to stop: another process may hold the row from now on. */
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

  /**
   * Registers a callback for the abort. If the delivery is aborted already, calls it at once. A batch thus
   * needs one signal for all its deliveries; a signal for each would be costly.
   */
  onAbort(callback: (reason: OutboxError) => void): void {
    this.#onAbort = callback
    if (this.#abortReason !== undefined) callback(this.#abortReason)
  }

  /** Why the listener was told to stop; undefined if it was not. */
  get abortReason(): OutboxError | undefined {
    return this.#abortReason
  }

  /** The signal for the listener, made on first use: most listeners never use it, and it is not free. */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      this.#aborter = new AbortController()
      if (this.#abortReason !== undefined) this.#aborter.abort(this.#abortReason)
    }
    return this.#aborter.signal
  }
}

/** How many losses in a row make a row a suspect. */
const suspectLosses = 3

/** Whether a row is a suspect. */
export function isSuspect({ losses }: Row): boolean {
  return losses >= suspectLosses
}

/** The row id as one text, for use as a key. */
export function rowIdOf({ eventId, destination }: { eventId: string; destination: string }): string {
  return destination === '' ? eventId : `${eventId}/${destination}`
}
