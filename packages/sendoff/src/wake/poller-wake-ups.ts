import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/logger.ts'
import { type EngineMetrics, engineMetrics, type MetricsExporter } from '../observe/metrics.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import { type ColdReason, type HotPath, isWantedNow, type LeftToPoller } from '../write/hot-path.ts'
import type { Waker } from './waker.ts'

/** Options of `PollerWakeUps`. */
export interface PollerWakeUpsOptions {
  /** The time of the wake-ups. */
  readonly clock: Clock
  /** Receives faults. */
  readonly logger: Logger
  /** Counts the events that are left to the poller. */
  readonly metrics: MetricsExporter
  /** Wakes the poller of this process and those of others. */
  readonly waker: Pick<Waker, 'wake' | 'announce'>
  /** Ends back-offs: a commit succeeded, so the store works. */
  readonly recovery?: StoreRecovery
}

// A transaction that the caller opened will end soon. These polls find its rows.
const pollsForForeignRowsMs = [10, 50, 250, 1_000]

const warningPauseMs = 60_000

/** Wakes pollers for rows that no process holds. */
export class PollerWakeUps implements Pick<HotPath, 'leftToPoller' | 'perhapsLater'> {
  readonly #options: PollerWakeUpsOptions
  readonly #metrics: EngineMetrics
  #dropped = 0
  #nextWarning = -Infinity

  constructor(options: PollerWakeUpsOptions) {
    this.#options = options
    this.#metrics = engineMetrics(options.metrics)
  }

  leftToPoller(left: readonly LeftToPoller[], isAnnounced: boolean): void {
    const { clock, waker } = this.#options
    const dropped = countOf(left, 'full')
    if (dropped > 0) {
      this.#metrics.addHotDropped(dropped)
      this.#warnOfDropped(dropped)
    }
    const broken = countOf(left, 'broken')
    if (broken > 0) this.#metrics.addHotBroken(broken)
    const delayed = countOf(left, 'delayed')
    if (delayed > 0) this.#metrics.addHotSkippedDelayed(delayed)
    const due = left.filter(({ reason }) => isWantedNow(reason))
    if (due.length > 0) {
      const partitions = partitionsOf(due)
      this.#wake(0, partitions)
      if (!isAnnounced) waker.announce(partitions)
    }
    for (const written of left) {
      if (written.reason !== 'delayed') continue
      const inMs = written.event.dueInMs(clock.now())
      const partitions = partitionsOf([written])
      this.#wake(inMs, partitions)
      waker.announce(partitions, inMs)
    }
  }

  // A full queue stays full for a while. One line counts all events until then.
  #warnOfDropped(count: number): void {
    const { clock, logger } = this.#options
    this.#dropped += count
    const now = clock.monotonic()
    if (now < this.#nextWarning) return
    this.#nextWarning = now + warningPauseMs
    logger.warn(
      `The hot queue is full, or its listeners take long: ${this.#dropped} events were left to the poller.`,
    )
    this.#dropped = 0
  }

  perhapsLater(): void {
    pollsForForeignRowsMs.forEach((ms) => this.#wake(ms))
  }

  #wake(inMs: number, partitions?: readonly number[]): void {
    this.#options.recovery?.answered()
    this.#options.waker.wake(inMs, partitions)
  }
}

function countOf(left: readonly LeftToPoller[], wanted: ColdReason): number {
  return left.reduce((count, { reason }) => count + (reason === wanted ? 1 : 0), 0)
}

/**
 * Returns undefined if one event has no ordering key: then its partition comes from its row number, which
 * only the database knows.
 */
function partitionsOf(written: readonly LeftToPoller[]): readonly number[] | undefined {
  const partitions = new Set<number>()
  for (const { partition } of written) {
    if (partition === null) return undefined
    partitions.add(partition)
  }
  return [...partitions]
}

/**
 * A hot path without places, for modes in which every event goes through a poller, here or in another
 * process.
 */
export function coldOnly(options: PollerWakeUpsOptions): HotPath {
  const signals = new PollerWakeUps(options)
  return {
    lease: { owner: '', ms: 0 },
    reserve: (event) => (event.dueInMs(options.clock.now()) > 0 ? 'delayed' : 'stopped'),
    leftToPoller: (left, isAnnounced) => signals.leftToPoller(left, isAnnounced),
    perhapsLater: () => signals.perhapsLater(),
  }
}
