import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/logger.ts'
import type { MetricsExporter } from '../observe/metrics.ts'
import type { HotPath, LeftToPoller } from '../write/hot-path.ts'

export interface ColdSignalsOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: MetricsExporter
  /** Asks the poller of this process to look, now or after some milliseconds. */
  readonly wakePoller: (inMs?: number) => void
  /** Tells the other processes. */
  readonly announce: () => void
}

// A transaction that somebody else opened ends at some moment soon: these looks find its rows.
const looksForForeignRowsMs = [10, 50, 250, 1_000]

/** Wakes pollers for rows that nobody holds. */
export class ColdSignals implements Pick<HotPath, 'leftToPoller' | 'perhapsLater'> {
  readonly #options: ColdSignalsOptions

  constructor(options: ColdSignalsOptions) {
    this.#options = options
  }

  leftToPoller(left: readonly LeftToPoller[], isAnnounced: boolean): void {
    const { clock, logger, metrics, wakePoller, announce } = this.#options
    const dropped = left.filter(({ reason }) => reason === 'full')
    if (dropped.length > 0) {
      logger.warn(`The hot queue is full: ${dropped.length} events were left to the poller.`)
      dropped.forEach(() => metrics.incrementHotDropped())
    }
    // What fails at the moment has time until the next tick.
    if (left.some(({ reason }) => reason !== 'delayed' && reason !== 'broken')) {
      wakePoller()
      if (!isAnnounced) announce()
    }
    for (const { event, reason } of left) {
      if (reason === 'broken') metrics.incrementHotBroken()
      if (reason !== 'delayed') continue
      metrics.incrementHotSkippedDelayed()
      wakePoller(event.dueInMs(clock.now()))
    }
  }

  perhapsLater(): void {
    looksForForeignRowsMs.forEach((ms) => this.#options.wakePoller(ms))
  }
}

/** For modes in which every event takes the way through the poller, here or elsewhere. */
export function coldOnly(options: ColdSignalsOptions): HotPath {
  const signals = new ColdSignals(options)
  return {
    lease: { owner: '', ms: 0 },
    reserve: (event) => (event.dueInMs(options.clock.now()) > 0 ? 'delayed' : 'stopped'),
    leftToPoller: (left, isAnnounced) => signals.leftToPoller(left, isAnnounced),
    perhapsLater: () => signals.perhapsLater(),
  }
}
