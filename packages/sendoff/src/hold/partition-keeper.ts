import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Holding } from '../delivery/delivery.ts'
import { BackOff, StoreRecovery } from '../store-calls/store-recovery.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxPartitions, OwnedPartition, OwnerFence, PartitionShares } from '../store/index.ts'
import type { Waker } from '../wake/waker.ts'
import type { LockHolding, NamedLock } from './named-lock.ts'
import { planPartitions } from './partition-plan.ts'

export interface PartitionKeeperOptions {
  readonly partitions: OutboxPartitions
  /** The lock by which this process takes part. */
  readonly lock: NamedLock
  readonly clock: Clock
  readonly logger: Logger
  /** Hears of answers of the store, so that a look that failed is repeated as soon as there is one. */
  readonly recovery?: StoreRecovery
  /** The longest pause between two looks at who owns what. */
  readonly intervalMs: number
  /** Whether this process may take part in sharing at this moment. */
  readonly mayShare: () => boolean
  /** Takes no more rows of a partition, and resolves when nothing of it is in hand. Never rejects. */
  readonly letGo: (partition: number) => Promise<void>
  /** Hears of partitions that this process gained, and tells others of free ones or of one more process to share them with. */
  readonly waker: Pick<Waker, 'wake' | 'announce'>
}

/** A partition in this process's hands, for as long as its lock is. */
export class PartitionHolding implements Holding {
  readonly partition: number
  readonly epoch: number
  /** Nothing more is to be read of it: it goes to somebody else. */
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

  /** What comes in while it is being given up is not run any more. */
  get validUntil(): number {
    return this.isLeaving ? -Infinity : this.#lock.validUntil
  }
}

/** Whoever lacks partitions that others have yet to let go of looks so often. */
const shortPauseMs = 500

/** So long after the end of somebody's lock it is surely over by the clock of the database. */
const marginMs = 20

/** What is committed without a key wakes everybody: looks at who owns what need not be as many. */
const wakePauseMs = 1_000

/**
 * Keeps this process's share of the partitions: takes its part of what is free, and gives up what others should have, as soon
 * as nothing of it is in hand any more. Whoever vanishes is replaced when its time is over.
 */
export class PartitionKeeper {
  readonly #options: PartitionKeeperOptions
  readonly #owned = new Map<number, PartitionHolding>()
  /** The epochs that the store was asked to free: whatever it answers, there is no going back. */
  readonly #givenUp = new Map<number, number>()
  readonly #firstLook = Promise.withResolvers<void>()
  readonly #backOff: BackOff
  #holding: LockHolding | undefined
  #looking: Promise<void> | undefined
  #lastLook = -Infinity
  #nextLook = Infinity
  /** Told of something during a look, which may have come too early for it. */
  #isWoken = false
  #cancel: Cancel | undefined
  #stopped = false

  constructor(options: PartitionKeeperOptions) {
    this.#options = options
    const { clock, recovery = new StoreRecovery(clock) } = options
    this.#backOff = new BackOff({
      what: 'Looking for partitions',
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

  /** Resolves when this process has looked for its share once. */
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

  /** The lock is somebody else's, or nobody's: so are the partitions. */
  lost(): void {
    this.#owned.clear()
    if (!this.#stopped) this.#schedule(0)
  }

  /** Something has happened that may be about partitions. */
  wake(): void {
    const now = this.#options.clock.monotonic()
    this.#isWoken = this.#looking !== undefined
    if (!this.#isWoken)
      this.#schedule(Math.max(0, Math.min(this.#nextLook, this.#lastLook + wakePauseMs) - now))
  }

  /** Looks at who owns what, and acts on it. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  /** Stops looking. The lock is released, or runs out, by itself. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    this.#firstLook.resolve()
    await this.#looking
  }

  async #lookNow(): Promise<void> {
    let pauseMs = shortPauseMs
    this.#lastLook = this.#options.clock.monotonic()
    try {
      if (this.#options.mayShare()) pauseMs = await this.#share()
      this.#backOff.succeeded()
    } catch (error) {
      this.#backOff.failed(`Looking for partitions failed and will be tried again. ${describeError(error)}`)
    }
    this.#firstLook.resolve()
    this.#schedule(this.#isWoken ? Math.min(pauseMs, wakePauseMs) : pauseMs)
    this.#isWoken = false
  }

  #schedule(inMs: number): void {
    this.#cancel?.()
    this.#nextLook = this.#options.clock.monotonic() + inMs
    if (!this.#stopped) this.#cancel = this.#backOff.schedule(inMs, () => void this.look())
  }

  /** Answers how long to wait before the next look. */
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
      return shortPauseMs
    }
    this.#adopt(shares, fence, holding)
    void this.#release(this.#stillOwned(shares, fence), fence)
    const { acquire, release, missing } = planPartitions(shares, fence.token)
    this.#giveUp(release, fence)
    const gained = acquire.length === 0 ? [] : await partitions.acquire(fence, acquire)
    for (const owned of gained) this.#gain(owned, holding)
    if (gained.length > 0) this.#options.waker.wake()
    if (isNew && missing > 0) this.#options.waker.announce()

    const isShort = missing > 0 || gained.length < acquire.length
    return Math.min(isShort ? shortPauseMs : intervalMs, Math.max(0, shares.nextEndMs) + marginMs)
  }

  /** What the store says is this process's own although it does not know: the answer that said so got lost. */
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
    // Lost meanwhile, all of it is free again.
    if (this.#options.lock.holding !== holding) return
    this.#owned.set(owned.partition, new PartitionHolding(owned, holding))
  }

  /** Gives partitions up, each as soon as nothing of it is in hand: those that are idle together and at once. */
  #giveUp(numbers: readonly number[], fence: OwnerFence): void {
    const leaving = numbers
      .flatMap((number) => this.#owned.get(number) ?? [])
      .filter((each) => !each.isLeaving)
    const idle: PartitionHolding[] = []
    for (const holding of leaving) {
      holding.isLeaving = true
      void this.#options.letGo(holding.partition).then(() => {
        if (idle.push(holding) === 1) setImmediate(() => void this.#release(idle.splice(0), fence))
      })
    }
  }

  /** What was given up and is still this process's own: the request got lost, or is on its way. */
  #stillOwned({ partitions }: PartitionShares, { token }: OwnerFence): readonly OwnedPartition[] {
    return partitions.filter(
      ({ partition, owner, epoch }) => owner === token && this.#givenUp.get(partition) === epoch,
    )
  }

  // Never rejects. What cannot be given up now is, after the next look. Until then nobody has it: the store may have
  // freed it, or may yet, although it did not say so.
  async #release(idle: readonly OwnedPartition[], fence: OwnerFence): Promise<void> {
    const { lock, partitions, waker } = this.#options
    if (idle.length === 0) return
    // What was in hand when the lock was lost may not be settled. The end of the lock frees it, and counts the loss.
    if (lock.holding === undefined || lock.fence.token !== fence.token) return
    for (const { partition, epoch } of idle) {
      this.#givenUp.set(partition, epoch)
      if (this.#owned.get(partition)?.epoch === epoch) this.#owned.delete(partition)
    }
    try {
      await partitions.release(
        fence,
        idle.map(({ partition, epoch }) => ({ partition, epoch })),
      )
      waker.announce()
    } catch (error) {
      this.#backOff.failed(
        `Giving up ${idle.length} partitions failed and will be tried again. ${describeError(error)}`,
      )
      this.#schedule(shortPauseMs)
    }
  }
}
