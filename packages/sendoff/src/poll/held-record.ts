import type { Delivery } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import type { OutboxLanes, OwnerFence } from '../store/index.ts'

/** Options of `HeldRecord`. */
export interface HeldRecordOptions {
  readonly store: { readonly lanes: Pick<OutboxLanes<never>, 'hold'> }
  /** The lock under which rows are read. */
  readonly lock: NamedLock
}

/**
 * Records in the row of a lock which rows this process holds under it. If the process crashes, the next
 * owner counts their losses.
 *
 * The lock of `partitioned` covers the rows of all destinations, and each destination has a tracker of its
 * own. The record holds the rows of all of them. Writes then follow one another: a late one must not undo a
 * newer.
 */
export class HeldRecord {
  readonly #options: HeldRecordOptions
  readonly #trackers: InFlightTracker[] = []
  /** Deliveries that were recorded, but may not be in a tracker yet. */
  #arriving: Delivery[] = []
  #hasRecorded = false
  #lastWrite: Promise<unknown> = Promise.resolve()

  constructor(options: HeldRecordOptions) {
    this.#options = options
  }

  /** Adds the rows of one more tracker to the record. */
  add(tracker: InFlightTracker): void {
    this.#trackers.push(tracker)
  }

  /** The unsettled deliveries under the lock, of all destinations. */
  unclaimed(): Delivery[] {
    const [only, ...others] = this.#trackers
    if (others.length === 0) return only?.unclaimed() ?? []
    return this.#trackers.flatMap((tracker) => tracker.unclaimed())
  }

  /** Records rows that this process is about to hold. Returns false if the lock is no longer the owner's. */
  async take(owner: OwnerFence, taken: readonly Delivery[]): Promise<boolean> {
    const unclaimed = taken.filter(({ lock }) => lock !== undefined)
    if (this.#trackers.length > 1) return this.#inTurn(() => this.#takeShared(owner, unclaimed))

    const inHand = this.unclaimed()
    if (unclaimed.length > 0) return this.#write(owner, inHand.concat(unclaimed))
    return inHand.length > 0 || !this.#hasRecorded || this.#write(owner, [])
  }

  /** Records which rows this process holds, if it has recorded any before. */
  async recordHeld(): Promise<void> {
    const { lock } = this.#options
    if (lock.holding === undefined || !this.#hasRecorded) return
    const write = () => this.#write(lock.fence, this.#all())
    await (this.#trackers.length > 1 ? this.#inTurn(write) : write())
  }

  async #takeShared(owner: OwnerFence, unclaimed: readonly Delivery[]): Promise<boolean> {
    const inHand = this.#all()
    if (unclaimed.length === 0) return inHand.length > 0 || !this.#hasRecorded || this.#write(owner, [])
    this.#arriving.push(...unclaimed)
    let isRecorded = false
    try {
      isRecorded = await this.#write(owner, inHand.concat(unclaimed))
    } finally {
      // Rows that could not be recorded do not arrive. They stay for a later read.
      if (!isRecorded) this.#arriving = this.#arriving.filter((each) => !unclaimed.includes(each))
    }
    return isRecorded
  }

  #all(): Delivery[] {
    this.#arriving = this.#arriving.filter(({ isTracked, ended }) => !isTracked && !ended)
    return this.unclaimed().concat(this.#arriving)
  }

  #inTurn<Result>(write: () => Promise<Result>): Promise<Result> {
    const turn = this.#lastWrite.then(write)
    this.#lastWrite = turn.catch(() => {})
    return turn
  }

  async #write(owner: OwnerFence, rows: readonly Delivery[]): Promise<boolean> {
    this.#hasRecorded = rows.length > 0
    return this.#options.store.lanes.hold({ owner, rows })
  }
}
