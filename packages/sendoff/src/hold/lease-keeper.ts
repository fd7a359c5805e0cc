import { type Cancel, type Clock, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { validUntil } from '../delivery/local-validity.ts'
import { BackOff, StoreRecovery } from '../store-calls/store-recovery.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import type { Lease, OutboxStore } from '../store/index.ts'

/** Options of `LeaseKeeper`. */
export interface LeaseKeeperOptions {
  /** The store that renews leases. */
  readonly store: Pick<OutboxStore<never>, 'renew'>
  /** The owner of the leases and the length of their term. */
  readonly lease: Lease
  /** Measures the terms of leases: the clock of the machine. */
  readonly clock?: Clock
  /** Receives faults: standard error. */
  readonly logger?: Logger
  /** Hears of answers of the store, so that a renewal that failed is repeated as soon as there is one. */
  readonly recovery?: StoreRecovery
  /** The rows that this process holds. */
  readonly inFlight: InFlightTracker
}

/** Leases are looked at so many times per term, for those that are about to end. */
const looksPerTerm = 20

/**
 * Renews, in one statement, the leases of everything in this process's hands, queued rows
 * included. A lease is short, so that a process that dies is replaced soon; renewing it three
 * times per term, and trying again soon after a failure, lets renewals fail without losing anything.
 *
 * A lease that could not be renewed ends here a little earlier than in the store, and its delivery is told to
 * stop before another process can begin with it. One timer watches over all of them.
 */
export class LeaseKeeper {
  readonly #options: Required<LeaseKeeperOptions>
  readonly #backOff: BackOff
  #cancelRenewal: Cancel | undefined
  #cancelLook: Cancel | undefined
  #lastTry = -Infinity
  #isRenewing = false
  #stopped = false

  constructor(options: LeaseKeeperOptions) {
    const { clock = systemClock } = options
    this.#options = { clock, logger: standardLogger, recovery: new StoreRecovery(clock), ...options }
    const ms = this.#intervalMs
    this.#backOff = new BackOff({
      ...this.#options,
      what: 'Renewing leases',
      firstMs: ms,
      longestMs: ms,
    })
  }

  start(): void {
    this.#scheduleRenewal(this.#intervalMs)
    this.#scheduleLook()
  }

  stop(): void {
    this.#stopped = true
    this.#cancelRenewal?.()
    this.#cancelLook?.()
  }

  /** Renews now. Rows that were lost meanwhile are told to stop. Returns false when it failed. Never rejects. */
  async renewAll(): Promise<boolean> {
    const { store, clock, lease } = this.#options
    const leased = this.#leased()
    if (leased.length === 0) return true

    const until = validUntil(clock.monotonic(), lease.ms)
    const rows = leased.map((delivery) => delivery.held)
    try {
      const lost = new Set(await store.renew({ rows, lease }))
      this.#backOff.succeeded()
      leased.forEach((delivery, index) => {
        const row = rows[index]!
        if (!lost.has(row)) delivery.leaseRenewed(until)
        // Unless this process has claimed it again in the meantime.
        else if (!delivery.ended && delivery.held.deliveries === row.deliveries) delivery.lose()
      })
      return true
    } catch (error) {
      this.#backOff.failed(
        `Renewing ${rows.length} leases failed and will be tried again. ${describeError(error)}`,
      )
      return false
    }
  }

  #leased(): Delivery[] {
    const leased: Delivery[] = []
    for (const delivery of this.#options.inFlight.values()) {
      if (delivery.lock === undefined && !delivery.ended && !delivery.isLost) leased.push(delivery)
    }
    return leased
  }

  get #intervalMs(): number {
    return this.#options.lease.ms / 3
  }

  /** From one try to the next where the first one failed. */
  get #retryMs(): number {
    return this.#options.lease.ms / 5
  }

  #scheduleRenewal(inMs: number): void {
    this.#cancelRenewal?.()
    this.#cancelRenewal = this.#backOff.schedule(inMs, () => void this.#tick())
  }

  // From start to start: where the database is slow, a row that has just been taken must not wait twice.
  async #tick(): Promise<void> {
    const { clock } = this.#options
    const startedAt = clock.monotonic()
    this.#lastTry = startedAt
    this.#isRenewing = true
    const hasRenewed = await this.renewAll()
    this.#isRenewing = false
    const pauseMs = hasRenewed ? this.#intervalMs : this.#retryMs
    if (!this.#stopped) this.#scheduleRenewal(Math.max(0, startedAt + pauseMs - clock.monotonic()))
  }

  #scheduleLook(inMs = this.#options.lease.ms / looksPerTerm): void {
    this.#cancelLook = this.#options.clock.schedule(inMs, () => this.#look())
  }

  /** Ends what is over, and renews what would be before the next renewal: a row that was written by a long transaction. */
  #look(): void {
    const { clock, lease } = this.#options
    const now = clock.monotonic()
    let nextEnd = Infinity
    for (const delivery of this.#leased()) {
      if (delivery.isHeld(now)) nextEnd = Math.min(nextEnd, delivery.leaseUntil)
      else delivery.lose()
    }
    if (nextEnd < now + this.#retryMs && !this.#isRenewing && now >= this.#lastTry + this.#retryMs) {
      this.#scheduleRenewal(0)
    }
    this.#scheduleLook(Math.min(lease.ms / looksPerTerm, nextEnd - now))
  }
}
