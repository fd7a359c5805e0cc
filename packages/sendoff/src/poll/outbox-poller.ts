import { type Cancel, type Clock, nextTurn, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import { type EngineMetrics, engineMetrics, type MetricsExporter } from '../observe/metrics.ts'
import type { TracedTick, Tracing } from '../observe/tracing.ts'
import { BackOff, StoreRecovery } from '../store-calls/store-recovery.ts'
import type { PendingBatch, PendingSource } from './pending-source.ts'
import { PollerAlarm } from '../wake/poller-alarm.ts'

/** Takes the deliveries that the poller finds. */
export interface OutboxPollerHandler {
  /** Takes a delivery. Returns false if there is no room: the poll then stops. */
  handle(delivery: Delivery): boolean
  /** How many deliveries there is room for. */
  availableCapacity(): number
}

/** Options of `OutboxPoller`. */
export interface OutboxPollerOptions {
  /** The source of due rows, such as `claimSource({ store, lease })` for a poller among others. */
  readonly source: PendingSource
  /** Takes the deliveries that the poller finds. */
  readonly handler: OutboxPollerHandler
  /** Wakes the poller before its interval is over. Only one poller may wait on it. */
  readonly alarm?: PollerAlarm
  /** The tracker of the dispatcher behind the handler, if there is one. */
  readonly inFlight?: InFlightTracker
  /** Reports when the store answers again, so that the poller soon repeats a failed poll. */
  readonly recovery?: StoreRecovery
  /** Measures the intervals. Default: the clock of the machine. */
  readonly clock?: Clock
  /** Receives faults. Default: standard error. */
  readonly logger?: Logger
  /** Records how long events had been due. Default: none. */
  readonly metrics?: MetricsExporter
  /** Makes spans of polls that find rows. Default: none. */
  readonly tracing?: Tracing | undefined
  /** The longest pause between two polls, in milliseconds. Default: 5 s. */
  readonly intervalMs?: number
  /**
   * The pause after a poll that found rows, in milliseconds. It doubles with each poll that finds none.
   * Default: `intervalMs`.
   */
  readonly busyIntervalMs?: number
  /** The size of the first batch of a drain. Default: 50. */
  readonly batchSize?: number
  /** The size of the largest batch. Default: 500. */
  readonly maxBatchSize?: number
}

/**
 * After this many milliseconds, a drain starts over: it polls again the rows before the place it has reached.
 */
const fullLookMs = 1_000

const firstRetryMs = 100

/** Defaults of the poller's settings. */
export const pollerDefaults = {
  enabled: true,
  intervalMs: 5_000,
  batchSize: 50,
  maxBatchSize: 500,
  skipRecentMs: 0,
}

/** The progress of a drain. */
interface Drain {
  /** Whether the next fetch begins with the earliest due row. */
  isAtStart: boolean
  lastFullLook: number
  /** How many rows to fetch next. */
  wanted: number
  /** Whether rows may have become due that the alarm does not know of. */
  hasNews: boolean
}

/**
 * The cold path: fetches the due rows that the hot path does not deliver.
 *
 * The poller sleeps until its interval is over, a row is known to fall due, or its alarm rings. The interval
 * is short while polls find rows. Then it drains: after a full batch it fetches again at once. Batches grow
 * while they come back full, and never exceed the room there is.
 *
 * Within a drain, the source continues from the place it has reached, even after the poller had to wait for
 * room. Every drain begins at the start, because late commits, released rows and expired leases lie before
 * that place.
 */
export class OutboxPoller {
  readonly #options: Required<OutboxPollerOptions>
  readonly #metrics: EngineMetrics
  readonly #alarm: PollerAlarm
  #stopped = false
  #stoppedDrain: Drain | undefined
  readonly #backOff: BackOff
  #pauseMs = 0
  #loop: Promise<void> | undefined
  #succeededAt: number | undefined
  #triedAt: number | undefined
  #tick: { readonly span: TracedTick | undefined; rows: number } | undefined
  #polling: Promise<void> = Promise.resolve()

  constructor(options: OutboxPollerOptions) {
    const {
      batchSize = pollerDefaults.batchSize,
      intervalMs = pollerDefaults.intervalMs,
      clock = systemClock,
    } = options
    this.#options = {
      alarm: new PollerAlarm({ clock }),
      inFlight: new InFlightTracker(),
      clock,
      recovery: new StoreRecovery(clock),
      logger: standardLogger,
      metrics: engineMetrics(),
      tracing: undefined,
      ...options,
      intervalMs,
      busyIntervalMs: Math.min(options.busyIntervalMs ?? intervalMs, intervalMs),
      batchSize,
      maxBatchSize: Math.max(options.maxBatchSize ?? pollerDefaults.maxBatchSize, batchSize),
    }
    this.#alarm = this.#options.alarm
    this.#metrics = engineMetrics(this.#options.metrics)
    this.#pauseMs = intervalMs
    this.#backOff = new BackOff({
      ...this.#options,
      what: 'Polling',
      firstMs: firstRetryMs,
      longestMs: intervalMs,
    })
  }

  start(): void {
    this.#succeededAt ??= this.#options.clock.monotonic()
    this.#loop ??= this.#run()
  }

  /** Milliseconds since the last poll that succeeded, or since `start`; undefined before that. */
  get sinceSuccessMs(): number | undefined {
    if (this.#succeededAt === undefined) return undefined
    return this.#options.clock.monotonic() - this.#succeededAt
  }

  /** Milliseconds since the background loop last began or ended a poll; undefined before `start`. */
  get sinceTryMs(): number | undefined {
    if (this.#triedAt === undefined) return undefined
    return this.#options.clock.monotonic() - this.#triedAt
  }

  /** Polls now, or after `inMs` milliseconds. */
  wake(inMs?: number): void {
    this.#alarm.wake(inMs)
  }

  /** Resumes where the poller stopped for lack of room. Call it when there is room again. */
  resume(): void {
    this.#alarm.resume()
  }

  /** Drains once. Rejects on a fault that the background loop would report and retry. */
  poll(): Promise<void> {
    return this.#poll(false)
  }

  #poll(isResuming: boolean): Promise<void> {
    const turn = this.#polling.then(() => this.#wholeDrain(isResuming))
    this.#polling = turn.catch(() => {})
    return turn
  }

  async close(): Promise<void> {
    this.#stopped = true
    this.#alarm.ring()
    await this.#loop
    await this.#polling
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.#pollOrReport(this.#alarm.takeReason() === 'room')
      await this.#sleep()
    }
  }

  // A database outage must not end the engine: report it, wait, try again.
  async #pollOrReport(isResuming: boolean): Promise<void> {
    this.#triedAt = this.#options.clock.monotonic()
    try {
      await this.#poll(isResuming)
      this.#backOff.succeeded()
      this.#succeededAt = this.#options.clock.monotonic()
    } catch (error) {
      this.#backOff.failed(`Polling failed and will be tried again. ${describeError(error)}`)
    }
    this.#triedAt = this.#options.clock.monotonic()
  }

  async #wholeDrain(isResuming: boolean): Promise<void> {
    const { source } = this.#options
    try {
      await this.#drain(isResuming)
    } catch (error) {
      await source.drained?.(error)
      this.#endTick(error)
      throw error
    }
    // A drain that waits for room is not over.
    if (this.#stoppedDrain !== undefined && !this.#stopped) return
    await source.drained?.()
    this.#endTick()
  }

  async #drain(isResuming: boolean): Promise<void> {
    const { handler, maxBatchSize } = this.#options
    const drain = (isResuming && this.#stoppedDrain) || this.#newDrain(!isResuming)
    this.#stoppedDrain = undefined
    this.#pauseMs = Math.min(this.#options.intervalMs, this.#pauseMs * 2)

    while (!this.#stopped) {
      const limit = Math.min(drain.wanted, handler.availableCapacity())
      if (limit <= 0) {
        this.#stoppedDrain = drain
        return
      }
      if (!(await this.#fetch(drain, limit))) return
      drain.wanted = Math.min(maxBatchSize, drain.wanted * 2)
      // Without this, a store that answers at once would keep timers and sockets waiting.
      await nextTurn(this.#options.clock)
    }
  }

  #newDrain(hasNews: boolean): Drain {
    const { source, clock, batchSize } = this.#options
    source.startOver?.()
    return { isAtStart: true, lastFullLook: clock.monotonic(), wanted: batchSize, hasNews }
  }

  /** Fetches once and hands the rows over. Returns whether to fetch again at once. */
  async #fetch(drain: Drain, limit: number): Promise<boolean> {
    const { source, inFlight } = this.#options
    this.#startOverInTime(drain)
    const hasNews = this.#alarm.takeNews() || drain.hasNews
    drain.hasNews = false

    const pollEnds = inFlight.pollBegins()
    try {
      const { deliveries, hasMore } = await (this.#isObserved
        ? this.#observed(() => source.fetch(limit, hasNews))
        : source.fetch(limit, hasNews))
      if (drain.isAtStart && !this.#metrics.isOff) this.#recordLag(deliveries[0])
      drain.isAtStart = false
      if (deliveries.length > 0) this.#pauseMs = this.#options.busyIntervalMs
      return this.#handOver(deliveries) && hasMore
    } finally {
      pollEnds()
    }
  }

  #startOverInTime(drain: Drain): void {
    const { source, clock } = this.#options
    const now = clock.monotonic()
    if (now - drain.lastFullLook < fullLookMs) return
    drain.lastFullLook = now
    drain.isAtStart = drain.hasNews = true
    source.startOver?.()
  }

  // We hand over all deliveries, even after a refusal: the handler hands back what it refuses.
  #handOver(deliveries: readonly Delivery[]): boolean {
    let room = true
    for (const delivery of deliveries) room = this.#options.handler.handle(delivery) && room
    return room
  }

  get #isObserved(): boolean {
    return !this.#metrics.isOff || this.#options.tracing !== undefined
  }

  async #observed(fetch: () => Promise<PendingBatch>): Promise<PendingBatch> {
    const { clock, tracing } = this.#options
    const startedAt = clock.monotonic()
    const batch = await fetch()
    const { length } = batch.deliveries
    const durationMs = clock.monotonic() - startedAt
    this.#metrics.recordPoll(length, durationMs)
    if (tracing !== undefined && length > 0) this.#traceFetch(tracing, length, clock.now() - durationMs)
    return batch
  }

  // A tick begins with the first fetch that finds rows: idle polls have no span.
  #traceFetch(tracing: Tracing, rows: number, startedAt: number): void {
    this.#tick ??= { span: tracing.tick(startedAt), rows: 0 }
    this.#tick.rows += rows
    this.#tick.span?.claim(startedAt, rows)
  }

  #endTick(error?: unknown): void {
    this.#tick?.span?.end(this.#tick.rows, error)
    this.#tick = undefined
  }

  #recordLag(oldest: Delivery | undefined): void {
    this.#metrics.recordOldestLagMs(
      oldest === undefined ? 0 : Math.max(0, this.#options.clock.now() - oldest.row.availableAt),
    )
  }

  // During an outage, wake-ups must not make the poller call the database without pause.
  get #shouldPoll(): boolean {
    return this.#stopped || (this.#alarm.isSet && !this.#hasFailed)
  }

  get #hasFailed(): boolean {
    return this.#backOff.failures > 0
  }

  #sleep(): Promise<void> {
    if (this.#shouldPoll) return Promise.resolve()
    const { clock } = this.#options
    const startedAt = clock.monotonic()

    return new Promise((resolve) => {
      let cancel: Cancel | undefined
      const arm = () => {
        cancel?.()
        if (this.#hasFailed) {
          const leftMs = startedAt + this.#backOff.pauseMs - clock.monotonic()
          cancel = this.#backOff.schedule(Math.max(0, leftMs), end, 'keepAlive')
          return
        }
        const latest = startedAt + this.#pauseMs
        const next = Math.min(latest, this.#alarm.nextTime ?? latest)
        cancel = clock.schedule(Math.max(0, next - clock.monotonic()), end, 'keepAlive')
      }
      const end = () => {
        cancel?.()
        this.#alarm.onRing(undefined)
        resolve()
      }
      this.#alarm.onRing(() => (this.#shouldPoll ? end() : arm()))
      arm()
    })
  }
}
