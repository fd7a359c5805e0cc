import { type Cancel, type Clock, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Delivery } from '../dispatch/delivery.ts'
import type { InFlightTracker } from '../dispatch/in-flight-tracker.ts'
import { validUntil } from '../dispatch/local-validity.ts'
import { BackOff, StoreRecovery } from '../dispatch/store-recovery.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import type { Lease, OutboxStore } from '../store.ts'

export interface LeaseKeeperOptions {
  readonly store: Pick<OutboxStore<never>, 'renew'>
  readonly lease: Lease
  readonly clock?: Clock
  readonly logger?: Logger
  /** Hears of answers of the store, so that a renewal that failed is repeated as soon as there is one. */
  readonly recovery?: StoreRecovery
  readonly inFlight: InFlightTracker
}

/**
 * Renews, in one statement, the leases of everything in this process's hands, queued rows
 * included. A lease is short, so that a process that dies is replaced soon; renewing it three
 * times per term lets one renewal fail without losing anything.
 */
export class LeaseKeeper {
  readonly #options: Required<LeaseKeeperOptions>
  readonly #backOff: BackOff
  #cancel: Cancel | undefined
  #stopped = false

  constructor(options: LeaseKeeperOptions) {
    const { clock = systemClock } = options
    this.#options = { clock, logger: standardLogger, recovery: new StoreRecovery(clock), ...options }
    const ms = this.#intervalMs
    this.#backOff = new BackOff({ recovery: this.#options.recovery, clock, firstMs: ms, longestMs: ms })
  }

  start(): void {
    this.#schedule(this.#intervalMs)
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  /** Renews now. Rows that were lost meanwhile are told to stop. Never rejects. */
  async renewAll(): Promise<void> {
    const { store, clock, logger, lease, inFlight } = this.#options
    const leased: Delivery[] = []
    for (const delivery of inFlight.values()) {
      if (delivery.lock === undefined && !delivery.settled && !delivery.isLost) leased.push(delivery)
    }
    if (leased.length === 0) return

    const until = validUntil(clock.monotonic(), lease.ms)
    const rows = leased.map((delivery) => delivery.held)
    try {
      const lost = new Set(await store.renew(rows, lease))
      this.#backOff.succeeded()
      leased.forEach((delivery, index) => {
        const row = rows[index]!
        if (!lost.has(row)) delivery.leaseRenewed(until)
        // Unless this process has claimed it again in the meantime.
        else if (!delivery.settled && delivery.held.deliveries === row.deliveries) delivery.lose()
      })
    } catch (error) {
      this.#backOff.failed()
      logger.error(`Renewing ${rows.length} leases failed and will be tried again. ${describeError(error)}`)
      const now = clock.monotonic()
      leased.filter((delivery) => !delivery.isHeld(now)).forEach((delivery) => delivery.lose())
    }
  }

  get #intervalMs(): number {
    return this.#options.lease.ms / 3
  }

  #schedule(inMs: number): void {
    this.#cancel = this.#backOff.schedule(inMs, () => void this.#tick())
  }

  // From start to start: where the database is slow, a row that has just been taken must not wait twice.
  async #tick(): Promise<void> {
    const { clock } = this.#options
    const startedAt = clock.monotonic()
    await this.renewAll()
    if (!this.#stopped) this.#schedule(Math.max(0, startedAt + this.#intervalMs - clock.monotonic()))
  }
}
