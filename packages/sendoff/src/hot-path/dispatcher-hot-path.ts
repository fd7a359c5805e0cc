import type { EventEnvelope } from '../event/event-envelope.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import type { ListenerRegistry } from '../route/listener-registry.ts'
import type { Lease, Row, RowId } from '../store/index.ts'
import type { ColdReason, HotPath, HotSlot, LeftToPoller } from '../write/hot-path.ts'
import { PollerWakeUps, type PollerWakeUpsOptions } from '../wake/poller-wake-ups.ts'
import { Delivery } from '../delivery/delivery.ts'
import { validUntil } from '../delivery/local-validity.ts'
import { type LookUp, LookUps, type LookUpsOptions } from './look-ups.ts'
import type { OutboxDispatcher } from '../dispatch/outbox-dispatcher.ts'
import type { Pauses } from '../hold/pauses.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import { TimeLimits } from '../dispatch/time-limits.ts'

/** Options of `DispatcherHotPath`. */
export interface DispatcherHotPathOptions extends PollerWakeUpsOptions, Omit<LookUpsOptions, 'inFlight'> {
  /** The dispatcher that takes the events after their commit. */
  readonly dispatcher: OutboxDispatcher
  /** The registry that says which events this process can deliver. */
  readonly listeners: ListenerRegistry
  /** The lease under which the process writes and claims rows. */
  readonly lease: Lease
  /** The event types and destinations that are paused. */
  readonly pauses: Pauses
  /** Ends back-offs: a commit succeeded, so the store works. */
  readonly recovery: StoreRecovery
  /** Whether this process may deliver at this moment. */
  readonly mayDeliver: () => boolean
  /** Leaves events to the poller while the breaker is open. */
  readonly breaker?: CircuitBreaker | undefined
}

/**
 * If a transaction was open for more than this part of a lease, this process claims its rows again after the
 * commit. The rest of the lease must outlast the time until the next renewal.
 */
const trustedPart = 0.5

/** The fence of a row that its writer has leased, before any other process has held it. */
const bornDeliveries = 1

/** Brings events from their commit into the dispatcher's hot queue. */
export class DispatcherHotPath implements HotPath {
  readonly #options: DispatcherHotPathOptions
  readonly #signals: PollerWakeUps
  readonly #lookUps: LookUps
  // A transaction that never ends must not keep its place forever. One that is merely long takes a free place
  // at its end.
  readonly #expiries: TimeLimits<QueueSlot>

  constructor(options: DispatcherHotPathOptions) {
    this.#options = options
    this.#signals = new PollerWakeUps(options)
    this.#lookUps = new LookUps({ ...options, inFlight: options.dispatcher.inFlight })
    this.#expiries = new TimeLimits(options.clock, (slot) => slot.giveBack())
  }

  get lease(): Lease {
    return this.#options.lease
  }

  reserve(event: EventEnvelope, destination = ''): HotSlot | ColdReason {
    const { dispatcher, listeners, pauses, mayDeliver, clock, breaker } = this.#options
    if (event.dueInMs(clock.now()) > 0) return 'delayed'
    const { aggregateType, eventType } = event
    if (listeners.routeFor(aggregateType, eventType, destination) === undefined) return 'noListener'
    if (!dispatcher.accepts || !mayDeliver() || pauses.isPaused({ eventType, destination })) return 'stopped'
    if (breaker?.isOpen) return 'broken'
    if (!dispatcher.reserveHot()) return 'full'

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
  readonly #askedAt: number
  #isOpen = true

  constructor(options: DispatcherHotPathOptions, lookUps: LookUps, expiries: TimeLimits<QueueSlot>) {
    this.#options = options
    this.#lookUps = lookUps
    this.#expiries = expiries
    this.#askedAt = options.clock.monotonic()
    expiries.start(this, options.lease.ms)
  }

  fill(row: Row): void {
    const { clock, lease } = this.#options
    const isTrusted = clock.monotonic() < this.#askedAt + lease.ms * trustedPart
    if (isTrusted)
      this.#enqueue(new Delivery(row, 'hot', { validUntil: validUntil(this.#askedAt, lease.ms) }))
    else this.lookUp(row, false)
  }

  lookUp(key: RowId, inDoubt: boolean, onKnown?: (exists: boolean | undefined) => void): void {
    const isOver = () => !this.#isOpen
    const end = (exists: boolean | undefined) => {
      this.giveBack()
      onKnown?.(exists)
    }
    const lookUp: LookUp = {
      // Another process may have held the row since, and may let go of it. Its state is another then.
      key: {
        eventId: key.eventId,
        destination: key.destination,
        unchanged: { deliveries: bornDeliveries, lockedBy: this.#options.lease.owner },
      },
      inDoubt,
      get isOver() {
        return isOver()
      },
      found: (delivery) => {
        this.#enqueue(delivery)
        onKnown?.(true)
      },
      isHere: () => end(true),
      notFound: () => end(undefined),
    }
    this.#lookUps.add(lookUp)
  }

  giveBack(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#expiries.stop(this, this.#options.lease.ms)
    this.#options.dispatcher.hotQueue.giveBackReserved()
  }

  #enqueue(delivery: Delivery): void {
    const { dispatcher, clock } = this.#options
    this.giveBack()
    // Another process may hold the row by now. If none does, the poller should find it at once.
    if (delivery.isHeld(clock.monotonic())) dispatcher.enqueueHot(delivery)
    else dispatcher.handBack(delivery)
  }
}
