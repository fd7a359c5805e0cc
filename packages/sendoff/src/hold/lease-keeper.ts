import { type Cancel, type Clock, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { validUntil } from '../delivery/local-validity.ts'
import { BackOff, StoreRecovery } from '../store-calls/store-recovery.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import { type EngineMetrics, engineMetrics, type MetricsExporter } from '../observe/metrics.ts'
import type { Lease, OutboxStore } from '../store/index.ts'

/** Options of `LeaseKeeper`. */
export interface LeaseKeeperOptions {
  /** The store that renews leases. */
  readonly store: Pick<OutboxStore<never>, 'renew'>
  /** The owner of the leases and the length of their term. */
  readonly lease: Lease
  /** Measures the terms of leases. Default: the clock of the machine. */
  readonly clock?: Clock
  /** Receives faults. Default: standard error. */
  readonly logger?: Logger
  /** Reports when the store answers again, so that the keeper soon repeats a failed renewal. */
  readonly recovery?: StoreRecovery
  /** Counts lost leases. Default: none. */
  readonly metrics?: MetricsExporter
  /** The rows that this process holds. */
  readonly inFlight: InFlightTracker
}

/** How many times per term the keeper checks for leases that are about to end. */
const looksPerTerm = 20

/**
 * Renews the leases of all rows that this process holds, queued ones included, in one statement. Leases are
 * short, so that other processes soon replace one that dies. The keeper renews them three times per term, and
 * again soon after a failure. So single renewals may fail, and no row is lost.
 *
 * A lease that the keeper could not renew ends here a little earlier than in the store. So the keeper tells
 * the delivery to stop before another process can begin it. One timer watches all leases.
 */
export class LeaseKeeper {
  readonly #options: Required<LeaseKeeperOptions>
  readonly #metrics: EngineMetrics
  readonly #backOff: BackOff
  #cancelRenewal: Cancel | undefined
  #cancelLook: Cancel | undefined
  #lastTry = -Infinity
  #isRenewing = false
  #stopped = false

  constructor(options: LeaseKeeperOptions) {
    const { clock = systemClock } = options
    this.#metrics = engineMetrics(options.metrics)
    this.#options = {
      clock,
      logger: standardLogger,
      recovery: new StoreRecovery(clock),
      ...options,
      metrics: this.#metrics,
    }
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

  /**
   * Renews all leases now, and tells deliveries of lost rows to stop. Returns false if it failed. Never
   * rejects.
   */
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
        // The row is not lost if this process has claimed it again in the meantime.
        else if (!delivery.ended && delivery.held.deliveries === row.deliveries) this.#lose(delivery)
      })
      return true
    } catch (error) {
      this.#backOff.failed(
        `Renewing ${rows.length} leases failed and will be tried again. ${describeError(error)}`,
      )
      return false
    }
  }

  #lose(delivery: Delivery): void {
    if (!delivery.isLost) this.#metrics.addLeasesLost(1)
    delivery.lose()
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

  /** The time from one try to the next after a failure, in milliseconds. */
  get #retryMs(): number {
    return this.#options.lease.ms / 5
  }

  #scheduleRenewal(inMs: number): void {
    this.#cancelRenewal?.()
    this.#cancelRenewal = this.#backOff.schedule(inMs, () => void this.#tick())
  }

  // The interval counts from start to start. With a slow database, a row that was just taken must not wait
  // twice.
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

  /**
   * Ends expired leases. Renews leases that would end before the next renewal, such as those of a long
   * transaction's rows.
   */
  #look(): void {
    const { clock, lease } = this.#options
    const now = clock.monotonic()
    let nextEnd = Infinity
    for (const delivery of this.#leased()) {
      if (delivery.isHeld(now)) nextEnd = Math.min(nextEnd, delivery.leaseUntil)
      else this.#lose(delivery)
    }
    if (nextEnd < now + this.#retryMs && !this.#isRenewing && now >= this.#lastTry + this.#retryMs) {
      this.#scheduleRenewal(0)
    }
    this.#scheduleLook(Math.min(lease.ms / looksPerTerm, nextEnd - now))
  }
}
