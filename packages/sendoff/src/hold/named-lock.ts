import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Holding } from '../delivery/delivery.ts'
import { validUntil } from '../delivery/local-validity.ts'
import { BackOff, StoreRecovery } from '../store-calls/store-recovery.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxLocks, OwnerFence } from '../store/index.ts'
import { lockTryMs } from '../store-calls/answering-in-time.ts'

export interface NamedLockOptions {
  readonly locks: OutboxLocks
  /** Where every holding has a lock of its own, the name of it. */
  readonly name: string | ((token: string) => string)
  /** Unique per process start. */
  readonly token: string
  readonly ttlMs: number
  /** So long before its end it is renewed. */
  readonly renewMarginMs: number
  readonly clock: Clock
  readonly logger: Logger
  /** Hears of answers of the store, so that a renewal that failed is repeated as soon as there is one. */
  readonly recovery?: StoreRecovery
  /** Called once when another process holds the lock, and again only after this one has had it. */
  readonly onStandBy?: (fence: OwnerFence) => void
}

/** The lock in this process's hands, from one acquisition until it is lost or given back. */
export interface LockHolding extends Holding {
  readonly fence: OwnerFence
}

/** A renewal that came to nothing is tried again after so long. */
const retryMs = 50

/**
 * A named lock in the database, renewed while it is held.
 *
 * Each time it is acquired there is a new holding and a new token, so that what was read under a
 * lock that was lost in between is not taken for held, here or in the database.
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
  /** Whether the store has left a request for the lock without an answer. It may have granted it. */
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

  /** Has `listener` called whenever the lock is lost: what was held under it is no longer this process's. */
  onLost(listener: (holding: LockHolding) => void): void {
    this.#onLost.push(listener)
  }

  /** The current holding, if the lock is surely ours at this moment. */
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

  /** The holding, acquired now if need be; undefined while somebody else has the lock. */
  async acquire(): Promise<LockHolding | undefined> {
    if (this.holding !== undefined) return this.holding
    this.#acquiring ??= this.#acquireNow().finally(() => (this.#acquiring = undefined))
    return this.#acquiring
  }

  async #acquireNow(): Promise<LockHolding | undefined> {
    const { locks, clock, ttlMs } = this.#options
    const askedAt = clock.monotonic()
    // What the store may have granted without an answer is asked for again by the same token: it would refuse another one.
    if (!this.#isUnanswered) this.#acquisitions++
    const { fence } = this
    this.#isUnanswered = true
    const isAcquired = await locks.acquire({ ...fence, ttlMs })
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
   * A renewal that may go along with something else that is asked of the store about the lock: once
   * a quarter of the time is over, so that one of its own is rarely needed.
   */
  get dueRenewal(): { readonly ttlMs: number; readonly done: () => void } | undefined {
    const { clock, ttlMs } = this.#options
    const holding = this.#holding
    const askedAt = clock.monotonic()
    if (holding === undefined || askedAt < this.#renewedAt + ttlMs / 4) return undefined
    return { ttlMs, done: () => this.#renewed(holding, askedAt) }
  }

  /** To be called when something speaks against the lock being ours: the store is asked at once, instead of with the next renewal. */
  doubt(): void {
    if (this.#holding === undefined || this.#isInDoubt) return
    this.#isInDoubt = true
    this.#scheduleRenewal(0)
  }

  /** To be called when the store says that the lock is not ours any more. */
  lost(): void {
    const holding = this.#holding
    if (holding === undefined) return
    this.abandon()
    holding.validUntil = -Infinity
    for (const listener of this.#onLost) listener(holding)
  }

  /** Stops renewing: the lock runs out by itself. */
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
    // What runs under the lock is told to stop before anybody else can have it.
    this.#cancelEnd?.()
    this.#cancelEnd = this.#options.clock.schedule(
      Math.max(0, holding.validUntil - this.#options.clock.monotonic()),
      () => this.lost(),
    )
    // Counted from when it was asked for: with slow answers, it would be too late otherwise.
    this.#scheduleRenewal(
      Math.max(0, askedAt + ttlMs - this.#options.renewMarginMs - this.#options.clock.monotonic()),
    )
  }

  /**
   * Whether enough of its time is left to begin something under it, and there is no doubt about it. If not, it is renewed
   * first, and `again` is called when that has come to an end.
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

  // Never rejects: a renewal that fails leaves the lock valid until its time is over.
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
    // From start to start: a store that is silent has taken its time already.
    const againAt = askedAt + lockTryMs(ttlMs, this.#options.renewMarginMs) * 1.25
    if (this.holding !== undefined) this.#scheduleRenewal(Math.max(0, againAt - clock.monotonic()))
  }
}
