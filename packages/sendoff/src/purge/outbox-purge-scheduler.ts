import { type Cancel, type Clock, nextTurn, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { BackOff, StoreRecovery } from '../store-calls/store-recovery.ts'
import { OutboxError } from '../errors.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import { engineMetrics, type MetricsExporter } from '../observe/metrics.ts'
import { SafeProgress } from '../observe/safe-progress.ts'
import { anything, callable, checkOptions, count, duration } from '../options.ts'
import { type OutboxStore, type PurgeCursor, requireParts } from '../store/index.ts'

/** Options of the purge. */
export interface PurgeOptions {
  /** How many milliseconds DONE events are kept. Default: 7 days. */
  readonly retentionMs?: number
  /** How many milliseconds DEAD events are kept. Default: forever. */
  readonly deadRetentionMs?: number
  /**
   * How many milliseconds events of any state are kept after they were written. Only for tables that no
   * worker reads.
   */
  readonly ageMs?: number
  /** How many milliseconds idempotency keys are kept. Default: as long as DONE events. */
  readonly idempotencyRetentionMs?: number
  /** How many rows one statement examines. Default: 500. */
  readonly batchSize?: number
  /** The pause between two runs, in milliseconds. Default: 1 hour. */
  readonly intervalMs?: number
  /** Called after each batch with the progress of the run. Its faults are logged, and the purge goes on. */
  readonly onProgress?: (progress: PurgeProgress) => unknown
}

/** The progress of a purge. */
export interface PurgeProgress {
  readonly deletedRows: number
  readonly deletedIdempotencyKeys: number
}

/** Options of `OutboxPurgeScheduler`. */
export interface OutboxPurgeSchedulerOptions extends PurgeOptions {
  /** The store to purge. */
  readonly store: Pick<OutboxStore<never>, 'purge'>
  /** Called before each batch: false ends the run. */
  readonly mayPurge?: () => boolean
  /** The source of time and timers. Default: that of the system. */
  readonly clock?: Clock
  /** Gets reports of failed runs. By default, they go to standard error. */
  readonly logger?: Logger
  /** Counts what was deleted. Default: none. */
  readonly metrics?: MetricsExporter
  /** Reports when the store answers again, so that the scheduler soon repeats a failed run. */
  readonly recovery?: StoreRecovery
}

const dayMs = 86_400_000

/** Defaults of the purge. */
export const purgeDefaults = { retentionMs: 7 * dayMs, batchSize: 500, intervalMs: dayMs / 24 }

/** Checks of the options of the purge. */
export const purgeOptionChecks = {
  retentionMs: duration,
  deadRetentionMs: duration,
  ageMs: duration,
  idempotencyRetentionMs: duration,
  batchSize: count,
  intervalMs: duration,
  onProgress: callable,
}

/** Returns how many milliseconds a purge keeps idempotency keys. */
export function keyRetentionOf({
  retentionMs = purgeDefaults.retentionMs,
  idempotencyRetentionMs = retentionMs,
}: PurgeOptions): number {
  return idempotencyRetentionMs
}

/** Deletes events and keys that were kept long enough, in small batches, at intervals. */
export class OutboxPurgeScheduler {
  readonly #options: OutboxPurgeSchedulerOptions
  readonly #store: Required<Pick<OutboxStore<never>, 'purge'>>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #recovery: StoreRecovery
  readonly #backOff: BackOff
  readonly #progress: SafeProgress
  #running: Promise<unknown> = Promise.resolve()
  #cancel: Cancel | undefined
  #state: 'new' | 'started' | 'closed' = 'new'

  constructor(options: OutboxPurgeSchedulerOptions) {
    const { clock = systemClock, logger = standardLogger } = options
    checkOptions('the purge', options, {
      ...purgeOptionChecks,
      store: anything,
      mayPurge: callable,
      clock: anything,
      logger: anything,
      metrics: anything,
      recovery: anything,
    })
    this.#options = options
    this.#store = requireParts(options.store, ['purge'], 'A purge')
    this.#clock = clock
    this.#logger = logger
    this.#progress = new SafeProgress(clock, logger)
    const { recovery = new StoreRecovery(clock) } = options
    this.#recovery = recovery
    const ms = this.#intervalMs
    this.#backOff = new BackOff({
      what: 'Purging',
      logger: this.#logger,
      recovery,
      clock,
      firstMs: ms,
      longestMs: ms,
    })
  }

  /** Runs at once, and again after every interval. Faults are logged, not thrown. */
  start(): void {
    if (this.#state === 'closed')
      throw new OutboxError('OUTBOX_CLOSED', 'The purge is closed. Make a new one.')
    if (this.#state === 'started') return
    this.#state = 'started'
    void this.#tick()
  }

  /** Deletes all events and keys that were kept long enough. Rejects on a fault. */
  runOnce(): Promise<PurgeProgress> {
    const run = this.#running.then(() => this.#purge())
    this.#running = run.catch(() => {})
    return run
  }

  /** Stops after the batch under way. */
  async close(): Promise<void> {
    this.#state = 'closed'
    this.#cancel?.()
    await this.#running
    this.#progress.flush()
  }

  async #tick(): Promise<void> {
    try {
      const { deletedRows, deletedIdempotencyKeys } = await this.runOnce()
      this.#backOff.succeeded()
      if (deletedRows + deletedIdempotencyKeys > 0) {
        this.#logger.info(`Purged ${deletedRows} events and ${deletedIdempotencyKeys} idempotency keys.`)
      }
    } catch (error) {
      this.#backOff.failed(`Purging failed and will be tried again. ${describeError(error)}`)
    }
    if (this.#state !== 'started') return
    this.#cancel = this.#backOff.schedule(this.#intervalMs, () => void this.#tick())
  }

  get #intervalMs(): number {
    return this.#options.intervalMs ?? purgeDefaults.intervalMs
  }

  async #purge(): Promise<PurgeProgress> {
    const {
      retentionMs = purgeDefaults.retentionMs,
      deadRetentionMs,
      ageMs,
      batchSize = purgeDefaults.batchSize,
      mayPurge = () => true,
    } = this.#options
    const metrics = engineMetrics(this.#options.metrics)
    const onProgress = this.#progress.of('the purge', this.#options)
    const request = {
      doneOlderThanMs: retentionMs,
      idempotencyKeysOlderThanMs: keyRetentionOf(this.#options),
      ...(deadRetentionMs === undefined ? {} : { deadOlderThanMs: deadRetentionMs }),
      ...(ageMs === undefined ? {} : { anyOlderThanMs: ageMs }),
      limit: batchSize,
    }
    const progress = { deletedRows: 0, deletedIdempotencyKeys: 0 }
    let cursor: PurgeCursor | undefined
    do {
      if (!mayPurge()) break
      const batch = await this.#store.purge({ ...request, ...(cursor === undefined ? {} : { cursor }) })
      this.#recovery.answered()
      progress.deletedRows += batch.deletedRows
      progress.deletedIdempotencyKeys += batch.deletedIdempotencyKeys
      metrics.addPurged(batch.deletedRows, batch.deletedIdempotencyKeys)
      cursor = batch.cursor
      onProgress({ ...progress })
      // Other work needs the database, and this process needs its event loop.
      await nextTurn(this.#clock)
    } while (cursor !== undefined && this.#state !== 'closed')
    return progress
  }
}
