import type { Clock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { Logger } from '../observe/logger.ts'
import type { EngineMetrics } from '../observe/metrics.ts'
import type { ProcessingChain } from '../process/processing-chain.ts'
import type { Outcome } from '../store/index.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Prefetch } from './prefetch.ts'
import { TimeLimits } from './time-limits.ts'

/** Options of `ListenerCalls`. */
export interface ListenerCallsOptions {
  readonly chain: ProcessingChain
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: EngineMetrics
  /** Gets the duration of each call. */
  readonly prefetch: Prefetch | undefined
  /** How many milliseconds a listener may take, unless its registration says otherwise. */
  readonly timeoutMs: number
  /** How many milliseconds a listener may continue after it was told to stop, before it is given up. */
  readonly graceMs: number
  readonly onEnded: (deliveries: readonly Delivery[], outcomes: Outcome | readonly Outcome[]) => void
}

/**
 * The listener calls that are under way, each for one event or a batch.
 *
 * If a call takes too long, its signal tells it to stop. It keeps its slot: hanging listeners must not pile
 * up without bound. If it does not stop, it is given up after a while, and its late result is ignored.
 */
export class ListenerCalls {
  readonly #options: ListenerCallsOptions
  readonly #calls = new Set<Call>()
  readonly #timeLimits: TimeLimits<Call>
  readonly #graceLimits: TimeLimits<Call>

  constructor(options: ListenerCallsOptions) {
    this.#options = options
    this.#timeLimits = new TimeLimits(options.clock, (call) => this.#tellToStop(call))
    this.#graceLimits = new TimeLimits(options.clock, (call) => void this.#giveUp(call))
  }

  get size(): number {
    return this.#calls.size
  }

  start(
    deliveries: readonly Delivery[],
    processing: Promise<Outcome | readonly Outcome[]>,
    timeoutMs?: number,
    places = 1,
  ): void {
    const { clock, metrics, prefetch } = this.#options
    const call = { deliveries, timeoutMs: timeoutMs ?? this.#options.timeoutMs }
    this.#calls.add(call)
    this.#timeLimits.start(call, call.timeoutMs)

    const startedAt = clock.monotonic()
    prefetch?.began(startedAt, places)
    void processing.then((outcomes) => {
      const endedAt = clock.monotonic()
      if (!metrics.isOff) metrics.recordListenerDurationMs(endedAt - startedAt)
      // A batch is one call: each of its events counts for its share.
      for (const delivery of deliveries) delivery.listenerMs = (endedAt - startedAt) / deliveries.length
      prefetch?.ended(endedAt, endedAt - startedAt, places)
      this.#end(call, outcomes)
    })
  }

  abortAll(reason: OutboxError): void {
    for (const { deliveries } of this.#calls) deliveries.forEach((delivery) => delivery.abort(reason))
  }

  /** Gives up all calls that are under way. Their late results are ignored. */
  abandon(): void {
    this.#calls.clear()
    this.#timeLimits.clear()
    this.#graceLimits.clear()
  }

  #end(call: Call, outcomes: Outcome | readonly Outcome[]): void {
    if (!this.#calls.delete(call)) return // given up before
    this.#timeLimits.stop(call, call.timeoutMs)
    this.#graceLimits.stop(call, this.#options.graceMs)
    this.#options.onEnded(call.deliveries, outcomes)
  }

  #tellToStop(call: Call): void {
    for (const delivery of call.deliveries) {
      const message = `${runningFor([call.deliveries.find(({ isInRules }) => isInRules) ?? delivery])} took longer than its ${call.timeoutMs} ms.`
      delivery.abort(new OutboxError('OUTBOX_LISTENER_TIMEOUT', message))
    }
    this.#graceLimits.start(call, this.#options.graceMs)
  }

  async #giveUp(call: Call): Promise<void> {
    const { chain, logger, graceMs } = this.#options
    const { timeoutMs } = call
    logger.warn(
      `${runningFor(call.deliveries)} did not stop ${graceMs} ms after its ${timeoutMs} ms were over and was given up. ` +
        'It may still be running: let it heed its signal, or raise timeoutMs.',
    )
    this.#end(call, await Promise.all(call.deliveries.map((delivery) => chain.timedOut(delivery))))
  }
}

/** Names what runs. A rule of the routing holds up the whole call. */
function runningFor(deliveries: readonly Delivery[]): string {
  const ruled = deliveries.find(({ isInRules }) => isInRules)
  const names = (ruled === undefined ? deliveries : [ruled])
    .map(({ row }) => `${row.eventId} (${row.eventType})`)
    .join(', ')
  return `${ruled === undefined ? 'The listener' : 'A "when" or "map" of the routing'} for event ${names}`
}

interface Call {
  readonly deliveries: readonly Delivery[]
  readonly timeoutMs: number
}
