import type { Clock } from '../clock.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import type { MetricsExporter } from '../observe/metrics.ts'
import type { ListenerRegistry } from '../route/listener-registry.ts'
import type { Lease, Row } from '../store.ts'
import type { ColdReason, HotPath, HotSlot, LeftToPoller } from '../write/hot-path.ts'
import { Delivery } from './delivery.ts'
import { validUntil } from './local-validity.ts'
import type { OutboxDispatcher } from './outbox-dispatcher.ts'
import type { Pauses } from './pauses.ts'
import { TimeLimits } from './time-limits.ts'

export interface DispatcherHotPathOptions {
  readonly dispatcher: OutboxDispatcher
  readonly listeners: ListenerRegistry
  readonly lease: Lease
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: MetricsExporter
  readonly pauses: Pauses
  /** Asks the poller to look, now or after some milliseconds. */
  readonly wakePoller: (inMs?: number) => void
}

// A transaction that somebody else opened ends at some moment soon: these looks find its rows.
const looksForForeignRowsMs = [10, 50, 250, 1_000]

/** Leads events from their commit into the dispatcher's hot queue. */
export class DispatcherHotPath implements HotPath {
  readonly #options: DispatcherHotPathOptions
  // The place of a transaction that never ends must not be lost for ever.
  readonly #expiries: TimeLimits<HotSlot>

  constructor(options: DispatcherHotPathOptions) {
    this.#options = options
    this.#expiries = new TimeLimits(options.clock, (slot) => slot.giveBack())
  }

  get lease(): Lease {
    return this.#options.lease
  }

  reserve(event: EventEnvelope): HotSlot | ColdReason {
    const { dispatcher, listeners, lease, pauses, clock } = this.#options
    if (event.dueInMs(clock.now()) > 0) return 'delayed'
    if (listeners.routeFor(event.aggregateType, event.eventType) === undefined) return 'noListener'
    if (!dispatcher.accepts || pauses.isPaused({ eventType: event.eventType, destination: '' }))
      return 'stopped'
    if (!dispatcher.hotQueue.reserve()) return 'full'

    const slot = new QueueSlot(this.#options, () => this.#expiries.stop(slot, lease.ms))
    this.#expiries.start(slot, lease.ms)
    return slot
  }

  leftToPoller(left: readonly LeftToPoller[]): void {
    const { clock, logger, metrics, wakePoller } = this.#options
    const dropped = left.filter(({ reason }) => reason === 'full')
    if (dropped.length > 0) {
      logger.warn(`The hot queue is full: ${dropped.length} events were left to the poller.`)
      dropped.forEach(() => metrics.incrementHotDropped())
    }
    if (left.some(({ reason }) => reason !== 'delayed')) wakePoller()

    for (const { event, reason } of left) {
      if (reason !== 'delayed') continue
      metrics.incrementHotSkippedDelayed()
      wakePoller(event.dueInMs(clock.now()))
    }
  }

  perhapsLater(): void {
    looksForForeignRowsMs.forEach((ms) => this.#options.wakePoller(ms))
  }
}

class QueueSlot implements HotSlot {
  readonly #options: DispatcherHotPathOptions
  readonly #onEnd: () => void
  readonly #validUntil: number
  #open = true

  constructor(options: DispatcherHotPathOptions, onEnd: () => void) {
    this.#options = options
    this.#onEnd = onEnd
    this.#validUntil = validUntil(options.clock.monotonic(), options.lease.ms)
  }

  fill(row: Row): void {
    const { dispatcher, clock } = this.#options
    const delivery = new Delivery(row, 'hot', { validUntil: this.#validUntil })
    const inTime = this.#end() && clock.monotonic() < this.#validUntil
    // Somebody else may have the row by now. If not, the poller shall find it at once.
    if (inTime) dispatcher.enqueueHot(delivery)
    else dispatcher.handBack(delivery)
  }

  giveBack(): void {
    this.#end()
  }

  #end(): boolean {
    if (!this.#open) return false
    this.#open = false
    this.#onEnd()
    this.#options.dispatcher.hotQueue.giveBackReserved()
    return true
  }
}
