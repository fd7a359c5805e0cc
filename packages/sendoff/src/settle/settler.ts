import type { Cancel, Clock } from '../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Logger } from '../observe/logger.ts'
import { type EngineMetrics, engineMetrics } from '../observe/metrics.ts'
import type { Tracing } from '../observe/tracing.ts'
import { BackOff, type StoreRecovery } from '../store-calls/store-recovery.ts'
import type { OutboxStore, Outcome, Settlement } from '../store/index.ts'
import { BadBatches } from './bad-batches.ts'
import { BatchWriter } from './batch-writer.ts'
import {
  failureMessage,
  fenceOf,
  type OutcomeBatch,
  retryWaitMs,
  type UnsettledOutcome,
  unwritten,
} from './outcome-batch.ts'
import { WritePauses } from './write-pauses.ts'

/** Options of `Settler`. */
export interface SettlerOptions {
  readonly store: Pick<OutboxStore<never>, 'people' | 'settle'>
  readonly clock: Clock
  readonly logger: Logger
  readonly recovery: StoreRecovery
  /** Gets the outcome as it was decided, too: a retry has waited since. Must not throw. */
  readonly onSettled: (delivery: Delivery, settlement: Settlement, refused: boolean, decided: Outcome) => void
  /** Called after each batch. Must not throw. */
  readonly onBatch?: () => void
  /** Whether deliveries wait for the settlement of a retry, so that it must not wait. Default: false. */
  readonly areRetriesAwaited?: boolean
  /** Gets the duration of each batch. Default: none. */
  readonly metrics?: EngineMetrics
  /** Makes a span of each batch with traced deliveries. Default: none. */
  readonly tracing?: Tracing | undefined
}

const maxBatch = 500
const maxWriters = 2
/** The smallest batch worth a second concurrent write while all lanes wait. */
const worthwhileBatch = 250
const longestWaitMs = 2
const retryPauses = { firstMs: 50, longestMs: 5_000 }
const failuresBeforeOneByOne = 3

/**
 * Writes outcomes to the store in batches: when there are enough, or a few milliseconds after the first.
 * After a quiet time the first is written at the end of its turn, with the others of that turn: none may
 * follow soon, and a timer costs more than it saves. One batch is under way at a time, so that under load
 * the next one fills meanwhile. A second batch is sent only if it is full, if no delivery can begin before
 * it is written, or if a drain waits for it. Then the store has work while this process handles the answer
 * to the first.
 *
 * Retries wait longer for others, and their delays count from the failure all the same. A destination that
 * fails every event then costs few statements.
 *
 * A failed write is repeated until it succeeds: the listener has done its work, and an event whose settlement
 * is lost would be delivered again. Its lease is renewed meanwhile.
 *
 * A failed batch is written again as soon as the store answers any call. If it fails again although others
 * were written meanwhile, the fault is in the batch. Then `BadBatches` finds the outcome that cannot be
 * written.
 */
export class Settler {
  readonly #options: SettlerOptions
  readonly #backOff: BackOff
  readonly #pauses = new WritePauses()
  readonly #writer: BatchWriter
  readonly #badBatches: BadBatches
  #waiting: UnsettledOutcome[] = []
  #failedBatches: OutcomeBatch[] = []
  #writers = 0
  #cancelTimer: Cancel | undefined
  /** When the waiting outcomes are written at the latest, if a writer is free then. */
  #writesAt = Infinity
  /** When a batch last began to fill, or the last writer ended. */
  #activeAt = -Infinity
  /** Whether an outcome waits that is to be written as soon as a writer is free. */
  #isInHurry = false
  #drainWaiters: (() => void)[] = []

  constructor(options: SettlerOptions) {
    const {
      store,
      clock,
      logger,
      recovery,
      onSettled,
      onBatch = () => {},
      metrics = engineMetrics(),
    } = options
    const backOff = { clock, logger, recovery, ...retryPauses, what: 'Settling' }
    this.#options = options
    this.#backOff = new BackOff(backOff)
    this.#writer = new BatchWriter({
      store,
      recovery,
      onSettled,
      onBatch,
      clock,
      metrics,
      tracing: options.tracing,
      onClaimedAgain: (items) => this.#writeAgain(items),
    })
    this.#badBatches = new BadBatches({
      writer: this.#writer,
      pauses: this.#pauses,
      backOff,
      onOutage: (batches) => this.#takeBack(batches),
      onWritten: () => this.#tellIfDrained(),
    })
  }

  /** Outcomes that the store has not acknowledged yet. */
  get backlog(): number {
    return this.#writer.backlog
  }

  add(delivery: Delivery, outcome: Outcome): void {
    if (this.#pauses.isStopped) return
    this.#writer.expect()
    const mayWait = outcome.kind === 'retry' && this.#options.areRetriesAwaited !== true
    const now = mayWait || !this.#isInHurry ? this.#options.clock.monotonic() : Infinity
    this.#waiting.push({ delivery, outcome, addedAt: now, uncertain: false, isEnded: false })
    if (this.#waiting.length >= maxBatch) return this.flush()
    if (mayWait) return this.#writeBy(now, now + retryWaitMs(outcome.delayMs))
    if (this.#isInHurry) return
    this.#isInHurry = true
    const isQuiet = this.#writers === 0 && now - this.#activeAt > longestWaitMs
    this.#activeAt = now
    if (isQuiet) this.#writeAfterTurn(now)
    else this.#writeBy(now, now + longestWaitMs)
  }

  /** Writes the outcomes at hand without waiting for more. */
  flush(least = maxBatch): void {
    this.#cancelTimer?.()
    if (this.#waiting.length > 0) this.#isInHurry = true
    if (this.#writers < maxWriters && this.#hasWorkFor(this.#writers + 1, least)) void this.#writeAll(least)
  }

  /** Like `flush`, for callers that can begin no delivery before the outcomes are written. */
  flushNow(): void {
    this.flush(worthwhileBatch)
  }

  /**
   * Resolves when everything added so far is acknowledged, or `giveUp` is called. Until then, outcomes do not
   * wait behind a batch that gets no answer.
   */
  async drained(): Promise<void> {
    if (this.backlog === 0 || this.#pauses.isStopped) return
    await new Promise<void>((resolve) => {
      this.#drainWaiters.push(resolve)
      this.flush()
    })
  }

  /**
   * Writes no more, and ignores later outcomes. Events without an acknowledgement will be delivered again.
   */
  giveUp(): void {
    this.#cancelTimer?.()
    this.#pauses.stop()
    this.#endDrains()
  }

  /** Makes a writer begin at this time, unless it begins earlier. */
  #writeBy(now: number, time: number): void {
    if (time >= this.#writesAt) return
    this.#writesAt = time
    if (this.#writers === 0) this.#setTimer(now)
  }

  #writeAfterTurn(now: number): void {
    this.#writesAt = now
    this.#options.clock.defer(() => {
      if (this.#isInHurry) this.flush()
    })
  }

  #setTimer(now: number): void {
    this.#cancelTimer?.()
    const inMs = Math.max(0, this.#writesAt - now)
    this.#cancelTimer = this.#options.clock.schedule(inMs, () => this.flush(), 'keepAlive')
  }

  // Never rejects: it reports a failing store and repeats the call.
  async #writeAll(least: number): Promise<void> {
    this.#writers++
    while (this.#hasWorkFor(this.#writers, least) && !this.#pauses.isStopped) {
      const batch = this.#nextBatch()
      try {
        await this.#writer.write(batch)
        this.#backOff.succeeded()
      } catch (error) {
        await this.#failed(batch, error)
      }
    }
    this.#writers--
    this.#activeAt = this.#options.clock.monotonic()
    const isOver = this.#writers > 0 || this.#waiting.length === 0 || this.#pauses.isStopped
    if (!isOver) this.#setTimer(this.#activeAt)
    this.#tellIfDrained()
  }

  // While the store fails, only one writer calls it.
  #hasWorkFor(writers: number, least: number): boolean {
    const enough = this.#drainWaiters.length > 0 ? 1 : least
    if (writers > 1) return this.#waiting.length >= enough && this.#backOff.failures === 0
    return (this.#isInHurry && this.#waiting.length > 0) || this.#failedBatches.length > 0
  }

  // While the store fails, failed and new outcomes take turns. Whether new ones can be written shows where
  // the fault is.
  #nextBatch(): OutcomeBatch {
    const { failures } = this.#backOff
    const isTurnOfNew = failures % 2 === 1 && this.#waiting.length > 0
    const again = isTurnOfNew ? undefined : this.#failedBatches.shift()
    if (again === undefined) return { items: this.#takeWaiting() }
    if (again.items.length === 1 || failures < failuresBeforeOneByOne) return again

    const [first, ...others] = again.items
    this.#failedBatches.push({ ...again, items: others })
    return { ...again, items: [first!] }
  }

  // Rows that were read without a claim are settled with the lock that they were read under. This process may
  // hold the next lock as well, but another process may have held one in between.
  #takeWaiting(): readonly UnsettledOutcome[] {
    const fence = fenceOf(this.#waiting)
    const end = this.#waiting.findIndex(
      ({ delivery: { lock } }) => lock !== undefined && lock.fence !== fence,
    )
    const taken = this.#waiting.splice(0, end === -1 ? maxBatch : Math.min(maxBatch, end))
    if (this.#waiting.length === 0) {
      this.#isInHurry = false
      this.#writesAt = Infinity
    }
    return taken
  }

  async #failed(batch: OutcomeBatch, error: unknown): Promise<void> {
    const { recovery, logger } = this.#options
    const failed = { items: unwritten(batch), writtenAtFailure: this.#writer.written }
    const message = failureMessage(failed, error)
    if (this.#isOwnFault(batch)) {
      recovery.failed('Settling', logger, message)
      this.#backOff.succeeded()
      return this.#badBatches.isolate(failed, error)
    }

    const isAlone = failed.items.length === 1 && this.#backOff.failures >= failuresBeforeOneByOne
    this.#backOff.failed(message)
    if (isAlone) void this.#badBatches.repeatAlone(failed, error)
    else this.#failedBatches.push(failed)
    if (this.#pauses.isStopped || !this.#hasWorkFor(1, 1)) return
    await this.#pauses.pause(this.#backOff)
  }

  /** Whether other batches were written since this one failed before. */
  #isOwnFault({ writtenAtFailure = Infinity }: OutcomeBatch): boolean {
    return this.#writer.written > writtenAtFailure
  }

  #writeAgain(items: readonly UnsettledOutcome[]): void {
    this.#waiting.push(...items)
    this.flush()
  }

  #takeBack(batches: readonly OutcomeBatch[]): void {
    const writtenAtFailure = this.#writer.written
    this.#failedBatches.push(...batches.map(({ items }) => ({ items, writtenAtFailure })))
    this.flush()
  }

  #tellIfDrained(): void {
    if (this.backlog === 0) this.#endDrains()
  }

  #endDrains(): void {
    const waiters = this.#drainWaiters
    this.#drainWaiters = []
    waiters.forEach((resolve) => resolve())
  }
}
