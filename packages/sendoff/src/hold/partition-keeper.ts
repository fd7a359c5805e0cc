import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Holding } from '../delivery/delivery.ts'
import { BackOff, StoreRecovery } from '../store-calls/store-recovery.ts'
import type { Logger } from '../observe/logger.ts'
import {
  type OutboxLocks,
  type OutboxPartitions,
  type OwnedPartition,
  type OwnerFence,
  participantLock,
  type PartitionShares,
} from '../store/index.ts'
import type { Waker } from '../wake/waker.ts'
import type { LockHolding, NamedLock } from './named-lock.ts'
import { leavingToken, planPartitions } from './partition-plan.ts'

/** Options of `PartitionKeeper`. */
export interface PartitionKeeperOptions {
  readonly partitions: OutboxPartitions
  /** The lock by which this process takes part. */
  readonly lock: NamedLock
  /** All locks, and how long one lasts, in milliseconds. */
  readonly locks: OutboxLocks
  readonly leaseMs: number
  readonly clock: Clock
  readonly logger: Logger
  /** Reports when the store answers again, so that the keeper soon repeats a failed check of the shares. */
  readonly recovery?: StoreRecovery
  /** The longest pause between two checks of the shares, in milliseconds. */
  readonly intervalMs: number
  /** Whether this process may take part in sharing at this moment. */
  readonly mayShare: () => boolean
  /**
   * Takes no more rows of a partition, and resolves when this process holds none of its rows. Never rejects.
   */
  readonly letGo: (partition: number) => Promise<void>
  /**
   * Wakes the poller after this process gained partitions. Wakes other processes when partitions are free, or
   * one more process shares them.
   */
  readonly waker: Pick<Waker, 'wake' | 'announce'>
}

/** A partition that this process owns, as long as its lock lasts. */
export class PartitionHolding implements Holding {
  readonly partition: number
  readonly epoch: number
  /** Whether this process is giving the partition up, and reads no more of its rows. */
  isLeaving = false
  readonly #lock: LockHolding

  constructor({ partition, epoch }: OwnedPartition, lock: LockHolding) {
    this.partition = partition
    this.epoch = epoch
    this.#lock = lock
  }

  get fence(): OwnerFence {
    return this.#lock.fence
  }

  /** Rows that arrive while the partition is being given up do not run any more. */
  get validUntil(): number {
    return this.isLeaving ? -Infinity : this.#lock.validUntil
  }
}

/** The check interval while waiting for other workers to release partitions, in milliseconds. */
const shortPauseMs = 500

/**
 * This many milliseconds after its expected end, a participant's lock has certainly ended by the database's
 * clock.
 */
const marginMs = 20

/**
 * The shortest pause between checks after wake-ups, in milliseconds. Each commit without a key wakes all
 * processes, and most of these wake-ups need no check.
 */
const wakePauseMs = 1_000

/**
 * Keeps this process's share of the partitions. It takes its part of the free ones. It gives up those that
 * other workers should have, each as soon as this process holds none of its rows. A worker that vanishes is
 * replaced when its lock has run out.
 */
export class PartitionKeeper {
  readonly #options: PartitionKeeperOptions
  readonly #owned = new Map<number, PartitionHolding>()
  /**
   * The epochs that this process asked the store to free. Whatever the store returned, this process does not
   * use them again.
   */
  readonly #givenUp = new Map<number, number>()
  readonly #firstLook = Promise.withResolvers<void>()
  readonly #backOff: BackOff
  #holding: LockHolding | undefined
  #looking: Promise<void> | undefined
  #lastLook = -Infinity
  #nextLook = Infinity
  /** Whether a wake-up came during a check. The check may have been too early to see its reason. */
  #isWoken = false
  /** Whether the lock was lost during a check. The check shares nothing then. */
  #hasLostLock = false
  #cancel: Cancel | undefined
  #stopped = false
  /** The lock that says that this process leaves. */
  #leaving: OwnerFence | undefined

  constructor(options: PartitionKeeperOptions) {
    this.#options = options
    const { clock, recovery = new StoreRecovery(clock) } = options
    this.#backOff = new BackOff({
      what: 'Sharing the partitions',
      logger: options.logger,
      recovery,
      clock,
      firstMs: shortPauseMs,
      longestMs: shortPauseMs,
    })
  }

  start(): void {
    void this.look()
  }

  /** Resolves after the first check of the shares. */
  get ready(): Promise<void> {
    if (this.#lastLook === -Infinity) this.start()
    return this.#firstLook.promise
  }

  /** The partitions to read from at this moment. */
  get active(): readonly PartitionHolding[] {
    if (this.#options.lock.holding === undefined || this.#options.lock.holding !== this.#holding) return []
    return [...this.#owned.values()].filter(({ isLeaving }) => !isLeaving)
  }

  ownsOneOf(partitions: readonly number[]): boolean {
    return partitions.some((partition) => this.#owned.has(partition))
  }

  isActive(holding: PartitionHolding): boolean {
    return this.#owned.get(holding.partition) === holding && !holding.isLeaving
  }

  /** Forgets all partitions. Call it when the lock is lost: the partitions are lost with it. */
  lost(): void {
    this.#owned.clear()
    this.#hasLostLock = this.#looking !== undefined
    if (!this.#stopped) this.#schedule(0)
  }

  /** Checks the shares soon, because the owners of partitions may have changed. */
  wake(): void {
    const now = this.#options.clock.monotonic()
    this.#isWoken = this.#looking !== undefined
    if (!this.#isWoken)
      this.#schedule(Math.max(0, Math.min(this.#nextLook, this.#lastLook + wakePauseMs) - now))
  }

  /** Checks which worker owns which partition, and takes or gives up some. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#lookNow().then((pauseMs) => {
      // The next check may begin at once, as soon as it is scheduled: this one has to be over by then.
      this.#looking = undefined
      const longestMs = this.#hasLostLock ? 0 : this.#isWoken ? wakePauseMs : Infinity
      this.#schedule(Math.min(pauseMs, longestMs))
      this.#isWoken = this.#hasLostLock = false
    })
    return this.#looking
  }

  /** Stops checking. Keeps the partitions until the lock is released or runs out. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    this.#firstLook.resolve()
    await this.#looking
  }

  /**
   * Leaves the others: gives up all partitions, each as soon as this process holds none of its rows. Never
   * rejects.
   */
  async leave(): Promise<void> {
    const { locks, lock, leaseMs, logger } = this.#options
    if (this.active.length === 0) return
    const { fence } = lock
    this.#leaving = leavingFence(fence)
    try {
      await locks.acquire({ ...this.#leaving, ttlMs: leaseMs })
    } catch (error) {
      logger.warn(`The other workers do not know that this one leaves. ${describeError(error)}`)
    }
    this.#giveUp([...this.#owned.keys()], fence)
  }

  /** Ends what `leave` began, after the lock was released. */
  async left(): Promise<void> {
    if (this.#leaving !== undefined) await this.#options.locks.release(this.#leaving)
  }

  /** Returns how many milliseconds to wait before the next check. Never rejects. */
  async #lookNow(): Promise<number> {
    let pauseMs = shortPauseMs
    this.#lastLook = this.#options.clock.monotonic()
    try {
      if (this.#options.mayShare()) pauseMs = await this.#share()
      this.#backOff.succeeded()
    } catch (error) {
      this.#backOff.failed(`Sharing the partitions failed and will be tried again. ${describeError(error)}`)
    }
    this.#firstLook.resolve()
    return pauseMs
  }

  #schedule(inMs: number): void {
    this.#cancel?.()
    this.#nextLook = this.#options.clock.monotonic() + inMs
    if (!this.#stopped) this.#cancel = this.#backOff.schedule(inMs, () => void this.look())
  }

  /** Returns how many milliseconds to wait before the next check. */
  async #share(): Promise<number> {
    const { lock, partitions, intervalMs } = this.#options
    const isNew = lock.holding === undefined
    const holding = await lock.acquire()
    if (holding === undefined) return shortPauseMs
    this.#holding = holding
    const { fence } = lock

    const shares = await partitions.shares(fence)
    if (shares === undefined) {
      lock.lost()
      // The store refuses a lock that it has just granted. Asked again at once, it may refuse without end.
      if (isNew) this.#hasLostLock = false
      return shortPauseMs
    }
    this.#adopt(shares, fence, holding)
    void this.#release(this.#stillOwned(shares, fence), fence)
    const { acquire, release, missing } = planPartitions(shares, fence.token)
    this.#giveUp(release, fence)
    const gained = acquire.length === 0 ? [] : await partitions.acquire({ owner: fence, partitions: acquire })
    for (const owned of gained) this.#gain(owned, holding)
    if (gained.length > 0) this.#options.waker.wake()
    if (isNew && missing > 0) this.#options.waker.announce()

    const isShort = missing > 0 || gained.length < acquire.length
    return Math.min(isShort ? shortPauseMs : intervalMs, Math.max(0, shares.nextEndMs) + marginMs)
  }

  /**
   * Takes over partitions that the store gave to this process in a lost answer, and drops those that it no
   * longer owns.
   */
  #adopt({ partitions }: PartitionShares, fence: OwnerFence, holding: LockHolding): void {
    for (const { partition, owner, epoch } of partitions) {
      const known = this.#owned.get(partition)
      if (owner === fence.token) {
        if (known?.epoch !== epoch && this.#givenUp.get(partition) !== epoch) {
          this.#gain({ partition, epoch }, holding)
        }
      } else if (known !== undefined) {
        this.#owned.delete(partition)
      }
    }
  }

  #gain(owned: OwnedPartition, holding: LockHolding): void {
    // The lock was lost meanwhile, so the partition is free again.
    if (this.#options.lock.holding !== holding) return
    this.#owned.set(owned.partition, new PartitionHolding(owned, holding))
  }

  /**
   * Gives partitions up, each as soon as this process holds none of its rows. Idle ones are released
   * together.
   */
  #giveUp(numbers: readonly number[], fence: OwnerFence): void {
    const { clock, letGo } = this.#options
    const leaving = numbers
      .flatMap((number) => this.#owned.get(number) ?? [])
      .filter((each) => !each.isLeaving)
    const idle: PartitionHolding[] = []
    for (const holding of leaving) {
      holding.isLeaving = true
      void letGo(holding.partition).then(() => {
        if (idle.push(holding) === 1) clock.defer(() => void this.#release(idle.splice(0), fence))
      })
    }
  }

  /** The partitions that this process gave up but still owns: the request was lost, or is on its way. */
  #stillOwned({ partitions }: PartitionShares, { token }: OwnerFence): readonly OwnedPartition[] {
    return partitions.filter(
      ({ partition, owner, epoch }) => owner === token && this.#givenUp.get(partition) === epoch,
    )
  }

  // Never rejects. A release that fails now is repeated after the next check. Until then no worker uses the
  // partition: the store may have freed it, or may still do so, although it returned no answer.
  async #release(idle: readonly OwnedPartition[], fence: OwnerFence): Promise<void> {
    const { lock, partitions, waker } = this.#options
    if (idle.length === 0) return
    // Rows held when the lock was lost may not be settled. The end of the lock frees their partitions, and
    // counts the losses.
    if (lock.holding === undefined || lock.fence.token !== fence.token) return
    for (const { partition, epoch } of idle) {
      this.#givenUp.set(partition, epoch)
      if (this.#owned.get(partition)?.epoch === epoch) this.#owned.delete(partition)
    }
    try {
      await partitions.release({
        owner: fence,
        partitions: idle.map(({ partition, epoch }) => ({ partition, epoch })),
      })
      waker.announce()
    } catch (error) {
      this.#backOff.failed(
        `Giving up ${idle.length} partitions failed and will be tried again. ${describeError(error)}`,
      )
      this.#schedule(shortPauseMs)
    }
  }
}

function leavingFence({ token }: OwnerFence): OwnerFence {
  const leaving = leavingToken(token)
  return { lock: participantLock(leaving), token: leaving }
}
