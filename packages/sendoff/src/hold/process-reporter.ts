import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { LatencyBuckets } from '../latency-buckets.ts'
import { DeliveryCounts, type KindCounts } from '../observe/delivery-counts.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxReports, ProcessReport, ReportRequest } from '../store/index.ts'

/** Options of `ProcessReporter`. */
export interface ProcessReporterOptions {
  readonly reports: OutboxReports
  /** The id that this process joined with. */
  readonly id: string
  readonly clock: Clock
  readonly logger: Logger
  /** Returns what this process is and does now. */
  readonly describe: () => Omit<ProcessReport, 'hotShare' | 'listenerBuckets'>
}

type Statistics = ReportRequest['statistics']

/** How long after a delivery the process reports it. */
const reportAfterMs = 5_000

const minuteMs = 60_000

/** After how many heartbeats a process repeats a report without news. */
const repeatAfterBeats = 4

/** How many rows of past minutes wait at most while the store does not take them. */
const maxWaiting = 2_000

/**
 * Reports to the store what this process is and does. A process that delivered something reports every 5 s,
 * an idle one with a heartbeat, if there is news.
 *
 * The process counts by the minute, and reports the counts of the whole minute each time. A report that
 * failed is made up for by the next. No delivery waits for a report, and none fails with it.
 */
export class ProcessReporter {
  readonly counts: DeliveryCounts
  readonly #options: ProcessReporterOptions
  /** Rows of minutes that are over, which the store did not take yet. */
  #waiting: Statistics = []
  #minute: number | undefined
  #cancel: Cancel | undefined
  #reporting: Promise<void> | undefined
  #hasReported = false
  #quietBeats = 0
  /** What the process is, as the store last took it. */
  #lastSaid: string | undefined
  #hasFailed = false
  #isClosed = false

  constructor(options: ProcessReporterOptions) {
    this.#options = options
    this.counts = new DeliveryCounts(() => this.#delivering())
  }

  /**
   * Reports, unless a report was sent since the last heartbeat. A report that would say the same again is
   * sent with every fourth heartbeat only: an idle process costs its database next to nothing.
   */
  heartbeat(): void {
    this.#quietBeats = this.#hasReported ? 0 : this.#quietBeats + 1
    const isNews = this.#waiting.length > 0 || JSON.stringify(this.#options.describe()) !== this.#lastSaid
    if (!this.#hasReported && (isNews || this.#quietBeats >= repeatAfterBeats)) void this.#report()
    this.#hasReported = false
  }

  /** Sends a last report. */
  async close(): Promise<void> {
    this.#cancel?.()
    await this.#reporting
    if (!this.#isClosed && (this.#minute !== undefined || this.#waiting.length > 0)) await this.#report()
    this.#isClosed = true
  }

  #delivering(): void {
    const minute = this.#minuteNow()
    if (this.#minute !== undefined && this.#minute !== minute) this.#endMinute(this.#minute)
    this.#minute = minute
    this.#schedule()
  }

  // All counts of the minute were reported. If that failed, they wait for the next report.
  #endMinute(minute: number): void {
    if (this.#hasFailed) this.#keep(this.counts.read().map((kind) => rowOf(minute, kind)))
    this.counts.clear()
  }

  #keep(rows: Statistics): void {
    this.#waiting = [...this.#waiting, ...rows].slice(-maxWaiting)
  }

  #schedule(): void {
    if (this.#isClosed) return
    this.#cancel ??= this.#options.clock.schedule(reportAfterMs, () => {
      this.#cancel = undefined
      void this.#report()
    })
  }

  #report(): Promise<void> {
    this.#reporting ??= this.#reportOnce().finally(() => (this.#reporting = undefined))
    return this.#reporting
  }

  // Never rejects: the next report makes up for it.
  async #reportOnce(): Promise<void> {
    const { reports, id, logger, clock, describe } = this.#options
    const kinds = this.counts.read()
    const minute = this.#minute
    const current = minute === undefined ? [] : kinds.map((kind) => rowOf(minute, kind))
    const statistics = [...this.#waiting, ...current]
    const isOver = minute !== undefined && minute !== this.#minuteNow()
    if (isOver) {
      this.counts.clear()
      this.#minute = undefined
    }
    this.#waiting = []
    this.#hasReported = true
    this.#quietBeats = 0
    const described = describe()
    try {
      const askedAt = clock.now()
      const answer = await reports.report({ id, report: { ...described, ...summary(kinds) }, statistics })
      this.counts.storeAheadMs = answer.now - (askedAt + clock.now()) / 2
      this.#lastSaid = JSON.stringify(described)
      this.#hasFailed = false
    } catch (error) {
      // What is still counted comes with the next report anyway.
      this.#keep(this.#minute === minute ? statistics.slice(0, -current.length || undefined) : statistics)
      if (this.#hasFailed) return
      this.#hasFailed = true
      logger.warn(
        `This process could not report what it does; it delivers all the same. ${describeError(error)}`,
      )
    }
  }

  #minuteNow(): number {
    return Math.floor((this.#options.clock.now() + this.counts.storeAheadMs) / minuteMs) * minuteMs
  }
}

function rowOf(minute: number, kind: KindCounts): Statistics[number] {
  return {
    minute,
    eventType: kind.eventType,
    destination: kind.destination,
    done: kind.done,
    failed: kind.failed,
    dead: kind.dead,
    deferred: kind.deferred,
    hot: kind.hot,
    listenerMs: Math.round(kind.listenerMs * 1_000) / 1_000,
    listenerBuckets: String(kind.listener),
    deliveryBuckets: String(kind.delivery),
  }
}

function summary(kinds: readonly KindCounts[]): Pick<ProcessReport, 'hotShare' | 'listenerBuckets'> {
  const listener = new LatencyBuckets()
  let all = 0
  let hot = 0
  for (const kind of kinds) {
    listener.merge(kind.listener)
    all += kind.done + kind.failed + kind.dead + kind.deferred
    hot += kind.hot
  }
  return { hotShare: all === 0 ? null : hot / all, listenerBuckets: String(listener) }
}
