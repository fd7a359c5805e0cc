import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Holding } from '../delivery/delivery.ts'
import { validUntil } from '../delivery/local-validity.ts'
import { BackOff, StoreRecovery } from '../store-calls/store-recovery.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxLocks, OwnerFence } from '../store/index.ts'
import { lockTryMs } from '../store-calls/answering-in-time.ts'

/** Options of `NamedLock`. */
export interface NamedLockOptions {
  readonly locks: OutboxLocks
  /**
   * The name of the lock, or a function that returns one for each token if every holding has its own lock.
   */
  readonly name: string | ((token: string) => string)
  /** A token that is unique to this start of the process. */
  readonly token: string
  readonly ttlMs: number
  /** The destination whose rows are read under the lock. Default: any. */
  readonly destination?: string | undefined
  /** How many milliseconds before its end the lock is renewed. */
  readonly renewMarginMs: number
  readonly clock: Clock
  readonly logger: Logger
  /** Reports when the store answers again, so that the lock soon repeats a failed renewal. */
  readonly recovery?: StoreRecovery
  /** Called once when another process holds the lock, and again only after this process has held it. */
  readonly onStandBy?: (fence: OwnerFence) => void
}

/** The time during which this process holds the lock: from one acquisition until it is lost or released. */
export interface LockHolding extends Holding {
  readonly fence: OwnerFence
}

/** The pause after a renewal that did not extend the lock, in milliseconds. */
const retryMs = 50

/**
 * A named lock in the database, renewed while this process holds it.
 *
 * Each acquisition makes a new holding and a new token. So rows that were read under a lost lock count as
 * held neither here nor in the database.
 */
export class NamedLock {
  readonly #options: NamedLockOptions
  readonly #backOff: BackOff
  #holding: (LockHolding & { validUntil: number }) | undefined
  readonly #onLost: ((holding: LockHolding) => void)[] = []
  #acquisitions = 0
  #renewedAt = -Infinity
  #isInDoubt = false
  #isRenewingFirst = false
  /** Whether the store has not answered a request for the lock. It may have granted the lock. */
  #isUnanswered = false
  #isStandingBy = false
  #acquiring: Promise<LockHolding | undefined> | undefined
  #cancelRenewal: Cancel | undefined
  #cancelEnd: Cancel | undefined

  constructor(options: NamedLockOptions) {
    this.#options = options
    const { clock, ttlMs, recovery = new StoreRecovery(clock) } = options
    this.#backOff = new BackOff({
      what: 'Renewing the lock',
      logger: options.logger,
      recovery,
      clock,
      firstMs: ttlMs / 6,
      longestMs: ttlMs / 6,
    })
  }

  /**
   * Registers a callback for the loss of the lock. The rows held under it then no longer belong to this
   * process.
   */
  onLost(listener: (holding: LockHolding) => void): void {
    this.#onLost.push(listener)
  }

  /** The current holding, if it is certain that this process holds the lock now. */
  get holding(): LockHolding | undefined {
    const holding = this.#holding
    if (holding !== undefined && this.#options.clock.monotonic() >= holding.validUntil) this.lost()
    return this.#holding
  }

  get fence(): OwnerFence {
    const { name } = this.#options
    const token = `${this.#options.token}/${this.#acquisitions}`
    return { lock: typeof name === 'string' ? name : name(token), token }
  }

  /**
   * Returns the holding, and acquires the lock if needed. Resolves to undefined while another process holds
   * the lock.
   */
  async acquire(): Promise<LockHolding | undefined> {
    if (this.holding !== undefined) return this.holding
    this.#acquiring ??= this.#acquireNow().finally(() => (this.#acquiring = undefined))
    return this.#acquiring
  }

  async #acquireNow(): Promise<LockHolding | undefined> {
    const { locks, clock, ttlMs, destination } = this.#options
    const askedAt = clock.monotonic()
    // After a request without an answer, we ask again with the same token. The store may have granted the
    // lock to that token, and would refuse another.
    if (!this.#isUnanswered) this.#acquisitions++
    const { fence } = this
    this.#isUnanswered = true
    const isAcquired = await locks.acquire({
      ...fence,
      ttlMs,
      ...(destination !== undefined && { destination }),
    })
    this.#isUnanswered = false
    if (!isAcquired) {
      if (!this.#isStandingBy) this.#options.onStandBy?.(fence)
      this.#isStandingBy = true
      return undefined
    }
    this.#isStandingBy = false

    this.#holding = { validUntil: 0, fence }
    this.#isInDoubt = false
    this.#renewed(this.#holding, askedAt)
    return this.#holding
  }

  /**
   * A renewal that another call under the lock can include; undefined before a quarter of the term is over.
   * So a separate renewal is rarely needed.
   */
  get dueRenewal(): { readonly ttlMs: number; readonly done: () => void } | undefined {
    const { clock, ttlMs } = this.#options
    const holding = this.#holding
    const askedAt = clock.monotonic()
    if (holding === undefined || askedAt < this.#renewedAt + ttlMs / 4) return undefined
    return { ttlMs, done: () => this.#renewed(holding, askedAt) }
  }

  /**
   * Makes the lock ask the store at once whether this process still holds it. Call it when there is reason to
   * doubt that.
   */
  doubt(): void {
    if (this.#holding === undefined || this.#isInDoubt) return
    this.#isInDoubt = true
    this.#scheduleRenewal(0)
  }

  /** Ends the holding. Call it when the store says that this process does not hold the lock any more. */
  lost(): void {
    const holding = this.#holding
    if (holding === undefined) return
    this.abandon()
    holding.validUntil = -Infinity
    for (const listener of this.#onLost) listener(holding)
  }

  /** Stops renewing. The lock runs out by itself. */
  abandon(): void {
    this.#cancelRenewal?.()
    this.#cancelEnd?.()
    this.#holding = undefined
  }

  async release(): Promise<void> {
    if (this.#holding === undefined) return
    this.abandon()
    await this.#options.locks.release(this.fence)
  }

  #renewed(holding: { validUntil: number }, askedAt: number): void {
    const { ttlMs } = this.#options
    if (this.#holding !== holding || askedAt < this.#renewedAt) return
    this.#renewedAt = askedAt
    this.#isInDoubt = false
    holding.validUntil = validUntil(askedAt, ttlMs)
    // We tell deliveries under the lock to stop before another process can get it.
    this.#cancelEnd?.()
    this.#cancelEnd = this.#options.clock.schedule(
      Math.max(0, holding.validUntil - this.#options.clock.monotonic()),
      () => this.lost(),
    )
    // The time counts from the request. Counted from a slow answer, the renewal would come too late.
    this.#scheduleRenewal(
      Math.max(0, askedAt + ttlMs - this.#options.renewMarginMs - this.#options.clock.monotonic()),
    )
  }

  /**
   * Whether the lock is not in doubt, and has enough time left to begin a delivery. If not, renews the lock
   * first, and then calls `again`.
   */
  hasTimeLeft(again: () => void): boolean {
    const { clock } = this.#options
    const holding = this.#holding
    if (holding === undefined) return true
    if (!this.#isInDoubt && clock.monotonic() < holding.validUntil - this.#options.renewMarginMs / 2)
      return true

    if (!this.#isRenewingFirst) void this.#renewFirst(holding, again)
    return false
  }

  // Never rejects.
  async #renewFirst(holding: Holding, again: () => void): Promise<void> {
    const { validUntil: before } = holding
    this.#isRenewingFirst = true
    this.#cancelRenewal?.()
    await this.#renew()
    this.#isRenewingFirst = false
    this.#options.clock.schedule(holding.validUntil === before ? retryMs : 0, again)
  }

  #scheduleRenewal(inMs: number): void {
    this.#cancelRenewal?.()
    this.#cancelRenewal = this.#backOff.schedule(inMs, () => void this.#renew())
  }

  // Never rejects: a failed renewal leaves the lock valid until its time is over.
  async #renew(): Promise<void> {
    const { locks, clock, ttlMs } = this.#options
    const holding = this.#holding
    if (holding === undefined) return

    const askedAt = clock.monotonic()
    try {
      const renewed = await locks.renew({ ...this.fence, ttlMs })
      this.#backOff.succeeded()
      if (this.#holding !== holding) return
      if (!renewed) return this.lost()
      return this.#renewed(holding, askedAt)
    } catch (error) {
      this.#backOff.failed(
        `Renewing the lock "${this.fence.lock}" failed and will be tried again. ${describeError(error)}`,
      )
    }
    // The interval counts from start to start: a silent store has used up much of it already.
    const againAt = askedAt + lockTryMs(ttlMs, this.#options.renewMarginMs) * 1.25
    if (this.holding !== undefined) this.#scheduleRenewal(Math.max(0, againAt - clock.monotonic()))
  }
}
