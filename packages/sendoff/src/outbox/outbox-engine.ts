import { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { SuspectTurns } from '../dispatch/suspect-turns.ts'
import { OutboxDispatcher } from '../dispatch/outbox-dispatcher.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import { LeaseKeeper } from '../hold/lease-keeper.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import type { PartitionKeeper } from '../hold/partition-keeper.ts'
import { blindBusyIntervalMs } from '../modes/mode-defaults.ts'
import type { Mode, ModeEnds, ModeOptions, ModeParts } from '../modes/mode.ts'
import type { DeliveryCounts } from '../observe/delivery-counts.ts'
import type { Tracing } from '../observe/tracing.ts'
import { claimRows, namedRow } from '../poll/claim-source.ts'
import { memberSource } from '../poll/member-source.ts'
import { openSource } from '../poll/open-source.ts'
import { OutboxPoller, pollerDefaults } from '../poll/outbox-poller.ts'
import type { PendingSource } from '../poll/pending-source.ts'
import { CircuitBreaker } from '../process/circuit-breaker.ts'
import { destinationOutage } from '../process/destination-outage.ts'
import type { DeliverySurroundings } from '../process/delivery-surroundings.ts'
import type { EventRules } from '../process/event-rules.ts'
import type { ProcessReport } from '../store/index.ts'
import type { Announcer } from '../wake/announcer.ts'
import { PollerAlarm } from '../wake/poller-alarm.ts'
import type { OutboxOptions } from './outbox-options.ts'

/** The parts that the engine shares with the writer and with engines of other destinations. */
export interface OutboxEngineParts extends Omit<ModeParts, 'inFlight' | 'waker' | 'skipRecentMs'> {
  readonly announcer: Announcer
  readonly counts?: DeliveryCounts
  readonly codec: JsonCodec
  readonly tracing?: Tracing | undefined
  readonly surroundings?: DeliverySurroundings | undefined
  /** Filters and maps events by the rules of a routing. */
  readonly rules?: EventRules
  /** The turns in which suspects run, if there are several engines. */
  readonly suspectTurns?: SuspectTurns
}

/** Options of any delivering mode, with the registry of its listeners. */
export type EngineOptions = OutboxOptions<never, never> & Pick<ModeOptions, 'listeners'>

/** The parts of an outbox that deliver to one destination, put together for its mode. */
export class OutboxEngine {
  readonly destination: string
  readonly hotPath: ModeEnds['hotPath']
  readonly poller: OutboxPoller
  readonly dispatcher: OutboxDispatcher
  readonly breaker: CircuitBreaker | undefined
  readonly alarm: PollerAlarm
  readonly keeper: PartitionKeeper | undefined
  readonly #lock: NamedLock | undefined
  readonly #source: PendingSource
  readonly #leaseKeeper: LeaseKeeper
  readonly #options: EngineOptions

  constructor(mode: Mode, options: EngineOptions, engineParts: OutboxEngineParts) {
    const { lease, store, membership, scope } = engineParts
    this.destination = scope.destination
    this.alarm = new PollerAlarm(engineParts)
    const parts = {
      ...engineParts,
      waker: this.alarm,
      inFlight: (scope.destination === '' && options.inFlightTracker) || new InFlightTracker(),
      skipRecentMs: options.poller?.skipRecentMs ?? pollerDefaults.skipRecentMs,
    }
    const setup = mode.open(options, parts)
    // The breaker of a mode leaves the cold path alone. That of a destination decides about both.
    const coldBreaker = setup.breaker === undefined ? destinationBreaker(parts) : undefined
    this.breaker = setup.breaker ?? coldBreaker

    const dispatcher = new OutboxDispatcher({
      timeoutGraceMs: lease.ms,
      resultsKeptMs: lease.ms * 4,
      ...options,
      ...parts,
      inFlightTracker: parts.inFlight,
      claimAgain: async ({ held, source }) => (await claimRows(parts, [namedRow(held, null)], source))[0],
      ...setup.dispatching,
      ...(coldBreaker && { breaker: coldBreaker, breaksCold: true }),
    })
    const { source, hotPath, keeper } = setup.connect(dispatcher)
    this.poller = new OutboxPoller({
      ...parts,
      ...(store.wakeUps === undefined && { busyIntervalMs: blindBusyIntervalMs }),
      ...setup.polling,
      ...options.poller,
      alarm: this.alarm,
      source: memberSource(
        scope.isNamed
          ? openSource(source, () => options.listeners.has(this.destination), coldBreaker)
          : source,
        () => membership.staysMember(),
      ),
      handler: {
        handle: (delivery) => dispatcher.enqueueCold(delivery),
        availableCapacity: () => dispatcher.coldQueueRemainingCapacity(),
      },
    })
    this.#leaseKeeper = new LeaseKeeper(parts)
    this.dispatcher = dispatcher
    this.hotPath = coldBreaker === undefined ? hotPath : unbrokenHotPath(hotPath, coldBreaker)
    this.#lock = setup.lock
    this.keeper = keeper
    this.#source = source
    this.#options = options
  }

  /** Begins to deliver. Returns whether it polls by itself. */
  start(): boolean {
    this.#leaseKeeper.start()
    const polls = this.#options.poller?.enabled ?? pollerDefaults.enabled
    if (!polls) return false
    this.keeper?.start()
    this.poller.start()
    return true
  }

  /** What this process holds now, for its report. */
  get state(): Pick<ProcessReport, 'queues' | 'held' | 'partitions'> {
    let locked = 0
    for (const { lock, ended } of this.dispatcher.inFlight.values())
      if (lock !== undefined && !ended) locked++
    return {
      queues: this.dispatcher.queueLengths,
      held: { leased: this.dispatcher.inFlight.size - locked, locked },
      partitions: this.keeper?.active.length ?? 0,
    }
  }

  /** Resolves when no event is queued, no listener runs, and no settlement is outstanding. */
  async idle(): Promise<void> {
    await this.hotPath.idle?.()
    await this.dispatcher.idle()
  }

  /**
   * Takes no more rows from the store. Resolves to a promise of the end of the last poll, which may need the
   * dispatcher.
   */
  async stopPolling(): Promise<{ readonly polled: Promise<void> }> {
    const polled = this.poller.close()
    // A source with `drained` waits for its deliveries, which need the dispatcher: do not await the poll.
    if (this.#source.drained === undefined) await polled
    return { polled }
  }

  /**
   * Takes no more rows until `unbar`. Hands queued rows back, and settles running ones while their lease or
   * lock lasts.
   */
  async bar(): Promise<void> {
    this.#lock?.abandon()
    this.keeper?.lost()
    await this.dispatcher.bar()
  }

  /** Takes rows again. */
  unbar(): void {
    this.dispatcher.unbar()
    this.keeper?.wake()
    this.wake()
  }

  /** Stops all timers and renewals, even while work is under way. */
  abandon(): void {
    this.#leaseKeeper.stop()
    this.#lock?.abandon()
  }

  /** Polls soon: rows may be due that this process has not written. */
  wake(): void {
    this.dispatcher.forgetResults()
    this.pollAgain()
  }

  /** Polls soon, and reads again the rows that had to wait. */
  pollAgain(): void {
    this.#source.forgetWaiting?.()
    this.alarm.wake()
  }
}

function destinationBreaker({
  scope,
  clock,
  logger,
  events,
  waker,
}: Pick<ModeParts, 'scope' | 'clock' | 'logger' | 'events' | 'waker'>): CircuitBreaker | undefined {
  const { breaker, destination } = scope
  if (breaker === undefined || breaker === false) return undefined
  const tell = destinationOutage({ clock, events }, destination)
  const circuitBreaker: CircuitBreaker = new CircuitBreaker(breaker, {
    clock,
    logger,
    name: destination,
    onState(state) {
      tell(state)
      // The poller has nothing to do while the breaker is open.
      waker.wake(state === 'open' ? circuitBreaker.coolDownMs : 0)
    },
  })
  return circuitBreaker
}

/** Leaves events to the poller while the breaker of their destination is open. */
function unbrokenHotPath(hotPath: ModeEnds['hotPath'], breaker: CircuitBreaker): ModeEnds['hotPath'] {
  return {
    lease: hotPath.lease,
    reserve: (event, destination) => {
      const isDelayed = event.isDelayed()
      return breaker.isOpen && !isDelayed ? 'broken' : hotPath.reserve(event, destination)
    },
    leftToPoller: (left, isAnnounced) => hotPath.leftToPoller(left, isAnnounced),
    perhapsLater: () => hotPath.perhapsLater(),
    ...(hotPath.idle && { idle: () => hotPath.idle!() }),
  }
}
