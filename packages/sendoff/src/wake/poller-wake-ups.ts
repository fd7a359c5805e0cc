import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/logger.ts'
import type { MetricsExporter } from '../observe/metrics.ts'
import type { HotPath, LeftToPoller } from '../write/hot-path.ts'

export interface PollerWakeUpsOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: MetricsExporter
  /** Asks the poller of this process to look after some milliseconds, in these partitions or wherever it may be. */
  readonly wakePoller: (inMs: number, partitions?: readonly number[]) => void
  /** Tells the other processes of something in these partitions, now or after some milliseconds. */
  readonly announce: (partitions?: readonly number[], inMs?: number) => void
}

// A transaction that somebody else opened ends at some moment soon: these looks find its rows.
const looksForForeignRowsMs = [10, 50, 250, 1_000]

const warningPauseMs = 60_000

/** Wakes pollers for rows that nobody holds. */
export class PollerWakeUps implements Pick<HotPath, 'leftToPoller' | 'perhapsLater'> {
  readonly #options: PollerWakeUpsOptions
  #dropped = 0
  #nextWarning = -Infinity

  constructor(options: PollerWakeUpsOptions) {
    this.#options = options
  }

  leftToPoller(left: readonly LeftToPoller[], isAnnounced: boolean): void {
    const { clock, metrics, wakePoller, announce } = this.#options
    const dropped = left.filter(({ reason }) => reason === 'full')
    if (dropped.length > 0) {
      dropped.forEach(() => metrics.incrementHotDropped())
      this.#warnOfDropped(dropped.length)
    }
    // What fails at the moment has time until the next tick.
    const due = left.filter(({ reason }) => reason !== 'delayed' && reason !== 'broken')
    if (due.length > 0) {
      const partitions = partitionsOf(due)
      wakePoller(0, partitions)
      if (!isAnnounced) announce(partitions)
    }
    for (const written of left) {
      if (written.reason === 'broken') metrics.incrementHotBroken()
      if (written.reason !== 'delayed') continue
      metrics.incrementHotSkippedDelayed()
      const inMs = written.event.dueInMs(clock.now())
      const partitions = partitionsOf([written])
      wakePoller(inMs, partitions)
      announce(partitions, inMs)
    }
  }

  // A queue that is full stays so for a while: one line tells of all events until then.
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
    looksForForeignRowsMs.forEach((ms) => this.#options.wakePoller(ms))
  }
}

/** Undefined where the partition of one is told by its number, which only the database knows. */
function partitionsOf(written: readonly LeftToPoller[]): readonly number[] | undefined {
  const partitions = new Set<number>()
  for (const { partition } of written) {
    if (partition === null) return undefined
    partitions.add(partition)
  }
  return [...partitions]
}

/** For modes in which every event takes the way through the poller, here or elsewhere. */
export function coldOnly(options: PollerWakeUpsOptions): HotPath {
  const signals = new PollerWakeUps(options)
  return {
    lease: { owner: '', ms: 0 },
    reserve: (event) => (event.dueInMs(options.clock.now()) > 0 ? 'delayed' : 'stopped'),
    leftToPoller: (left, isAnnounced) => signals.leftToPoller(left, isAnnounced),
    perhapsLater: () => signals.perhapsLater(),
  }
}
