import type { EventEnvelope } from '../event/event-envelope.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import type { ListenerRegistry } from '../route/listener-registry.ts'
import type { Lease, Row, RowKey } from '../store.ts'
import type { ColdReason, HotPath, HotSlot, LeftToPoller } from '../write/hot-path.ts'
import { ColdSignals, type ColdSignalsOptions } from './cold-signals.ts'
import { Delivery } from './delivery.ts'
import { validUntil } from './local-validity.ts'
import { type LookUp, LookUps, type LookUpsOptions } from './look-ups.ts'
import type { OutboxDispatcher } from './outbox-dispatcher.ts'
import type { Pauses } from './pauses.ts'
import { TimeLimits } from './time-limits.ts'

export interface DispatcherHotPathOptions extends ColdSignalsOptions, LookUpsOptions {
  readonly dispatcher: OutboxDispatcher
  readonly listeners: ListenerRegistry
  readonly lease: Lease
  readonly pauses: Pauses
  /** Leaves events to the poller while it is open. */
  readonly breaker?: CircuitBreaker | undefined
}

/** Leads events from their commit into the dispatcher's hot queue. */
export class DispatcherHotPath implements HotPath {
  readonly #options: DispatcherHotPathOptions
  readonly #signals: ColdSignals
  readonly #lookUps: LookUps
  // The place of a transaction that never ends must not be lost for ever.
  readonly #expiries: TimeLimits<QueueSlot>

  constructor(options: DispatcherHotPathOptions) {
    this.#options = options
    this.#signals = new ColdSignals(options)
    this.#lookUps = new LookUps(options)
    this.#expiries = new TimeLimits(options.clock, (slot) => slot.giveBack())
  }

  get lease(): Lease {
    return this.#options.lease
  }

  reserve(event: EventEnvelope): HotSlot | ColdReason {
    const { dispatcher, listeners, pauses, clock, breaker } = this.#options
    if (event.dueInMs(clock.now()) > 0) return 'delayed'
    if (listeners.routeFor(event.aggregateType, event.eventType) === undefined) return 'noListener'
    if (!dispatcher.accepts || pauses.isPaused({ eventType: event.eventType, destination: '' }))
      return 'stopped'
    if (breaker?.isOpen) return 'broken'
    if (!dispatcher.hotQueue.reserve()) return 'full'

    return new QueueSlot(this.#options, this.#lookUps, this.#expiries)
  }

  leftToPoller(left: readonly LeftToPoller[], isAnnounced: boolean): void {
    this.#signals.leftToPoller(left, isAnnounced)
  }

  perhapsLater(): void {
    this.#signals.perhapsLater()
  }

  /** Resolves when no committed row is on its way into the queue. */
  idle(): Promise<void> {
    return this.#lookUps.idle()
  }
}

class QueueSlot implements HotSlot {
  readonly #options: DispatcherHotPathOptions
  readonly #lookUps: LookUps
  readonly #expiries: TimeLimits<QueueSlot>
  readonly #validUntil: number
  #isOpen = true

  constructor(options: DispatcherHotPathOptions, lookUps: LookUps, expiries: TimeLimits<QueueSlot>) {
    this.#options = options
    this.#lookUps = lookUps
    this.#expiries = expiries
    this.#validUntil = validUntil(options.clock.monotonic(), options.lease.ms)
    expiries.start(this, options.lease.ms)
  }

  fill(row: Row): void {
    this.#enqueue(new Delivery(row, 'hot', { validUntil: this.#validUntil }))
  }

  lookUp(key: RowKey, inDoubt: boolean): void {
    const isOver = () => !this.#isOpen
    const lookUp: LookUp = {
      key,
      inDoubt,
      get isOver() {
        return isOver()
      },
      found: (delivery) => this.#enqueue(delivery),
      notFound: () => this.giveBack(),
    }
    if (this.#isOpen) this.#lookUps.add(lookUp)
  }

  giveBack(): void {
    this.#end()
  }

  #enqueue(delivery: Delivery): void {
    const { dispatcher, clock } = this.#options
    const isInTime = this.#end() && delivery.isHeld(clock.monotonic())
    // Somebody else may have the row by now. If not, the poller shall find it at once.
    if (isInTime) dispatcher.enqueueHot(delivery)
    else dispatcher.handBack(delivery)
  }

  #end(): boolean {
    if (!this.#isOpen) return false
    this.#isOpen = false
    this.#expiries.stop(this, this.#options.lease.ms)
    this.#options.dispatcher.hotQueue.giveBackReserved()
    return true
  }
}
