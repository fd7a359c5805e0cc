import { describeError } from '../describe-error.ts'
import { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { OutboxDispatcher } from '../dispatch/outbox-dispatcher.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import { LeaseKeeper } from '../hold/lease-keeper.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import type { PartitionKeeper } from '../hold/partition-keeper.ts'
import type { Pauses } from '../hold/pauses.ts'
import { blindBusyIntervalMs } from '../modes/mode-defaults.ts'
import type { Mode, ModeEnds, ModeOptions, ModeParts } from '../modes/mode.ts'
import type { DeliveryCounts } from '../observe/delivery-counts.ts'
import type { Logger } from '../observe/logger.ts'
import { claimRows, namedRow } from '../poll/claim-source.ts'
import { memberSource } from '../poll/member-source.ts'
import { OutboxPoller, pollerDefaults } from '../poll/outbox-poller.ts'
import type { PendingSource } from '../poll/pending-source.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import type { ProcessReport, WakeUp } from '../store/index.ts'
import type { Announcer } from '../wake/announcer.ts'
import { PollerAlarm } from '../wake/poller-alarm.ts'
import type { OutboxOptions } from './outbox-options.ts'

/** The parts that the engine shares with the writer. */
export interface OutboxEngineParts extends Omit<ModeParts, 'inFlight' | 'waker' | 'skipRecentMs'> {
  readonly announcer: Announcer
  readonly counts?: DeliveryCounts
  readonly codec: JsonCodec
}

/** Options of any delivering mode, with the registry of its listeners. */
export type EngineOptions = OutboxOptions<never, never> & Pick<ModeOptions, 'listeners'>

/** The parts of an outbox that deliver, put together for its mode. */
export class OutboxEngine {
  readonly hotPath: ModeEnds['hotPath']
  readonly poller: OutboxPoller
  readonly dispatcher: OutboxDispatcher
  readonly breaker: CircuitBreaker | undefined
  readonly #alarm: PollerAlarm
  readonly #lock: NamedLock | undefined
  readonly #keeper: PartitionKeeper | undefined
  readonly #source: PendingSource
  readonly #leaseKeeper: LeaseKeeper
  readonly #logger: Logger
  readonly #pauses: Pauses
  readonly #options: OutboxOptions<never, never>
  #stopListening: Promise<(() => Promise<void>) | undefined> | undefined

  constructor(mode: Mode, options: EngineOptions, engineParts: OutboxEngineParts) {
    const { lease, store, membership } = engineParts
    this.#alarm = new PollerAlarm(engineParts)
    const parts = {
      ...engineParts,
      waker: this.#alarm,
      inFlight: options.inFlightTracker ?? new InFlightTracker(),
      skipRecentMs: options.poller?.skipRecentMs ?? pollerDefaults.skipRecentMs,
    }
    const setup = mode.open(options, parts)

    const dispatcher = new OutboxDispatcher({
      timeoutGraceMs: lease.ms,
      resultsKeptMs: lease.ms * 4,
      ...options,
      ...parts,
      inFlightTracker: parts.inFlight,
      claimAgain: async ({ held, source }) => (await claimRows(parts, [namedRow(held, null)], source))[0],
      ...setup.dispatching,
    })
    const { source, hotPath, keeper } = setup.connect(dispatcher)
    this.poller = new OutboxPoller({
      ...parts,
      ...(store.wakeUps === undefined && { busyIntervalMs: blindBusyIntervalMs }),
      ...setup.polling,
      ...options.poller,
      alarm: this.#alarm,
      source: memberSource(source, () => membership.staysMember()),
      handler: {
        handle: (delivery) => dispatcher.enqueueCold(delivery),
        availableCapacity: () => dispatcher.coldQueueRemainingCapacity(),
      },
    })
    this.#leaseKeeper = new LeaseKeeper(parts)
    this.dispatcher = dispatcher
    this.hotPath = hotPath
    this.breaker = setup.breaker
    this.#lock = setup.lock
    this.#keeper = keeper
    this.#source = source
    this.#logger = parts.logger
    this.#pauses = parts.pauses
    this.#options = options
  }

  start(): void {
    this.#leaseKeeper.start()
    if (!(this.#options.poller?.enabled ?? pollerDefaults.enabled)) return
    this.#keeper?.start()
    this.poller.start()
    this.#stopListening = this.#listen()
  }

  /** What this process holds now, for its report. */
  get state(): Pick<ProcessReport, 'queues' | 'held' | 'partitions'> {
    let locked = 0
    for (const { lock, ended } of this.dispatcher.inFlight.values())
      if (lock !== undefined && !ended) locked++
    return {
      queues: this.dispatcher.queueLengths,
      held: { leased: this.dispatcher.inFlight.size - locked, locked },
      partitions: this.#keeper?.active.length ?? 0,
    }
  }

  /** Resolves when no event is queued, no listener runs, and no settlement is outstanding. */
  async idle(): Promise<void> {
    await this.hotPath.idle?.()
    await this.dispatcher.idle()
  }

  async close(): Promise<void> {
    await this.#unlisten()
    const polled = this.poller.close()
    // A source with `drained` waits for its deliveries, which need the dispatcher: do not await the poll.
    if (this.#source.drained === undefined) await polled
    await this.#keeper?.stop()
    await this.dispatcher.close(this.#options)
    await polled
    this.abandon()
  }

  /**
   * Takes no more rows until `unbar`. Hands queued rows back, and settles running ones while their lease or
   * lock lasts.
   */
  async bar(): Promise<void> {
    this.#lock?.abandon()
    this.#keeper?.lost()
    await this.dispatcher.bar()
  }

  /** Takes rows again. */
  unbar(): void {
    this.dispatcher.unbar()
    this.#keeper?.wake()
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
    this.#source.forgetWaiting?.()
    this.#alarm.wake()
  }

  // Without wake-ups, the poller still polls at its intervals.
  async #listen(): Promise<(() => Promise<void>) | undefined> {
    const { wakeUps } = this.#options.store
    if (wakeUps === undefined) return undefined
    try {
      const stop = await wakeUps.listen((wakeUp) => this.#woken(wakeUp))
      // Signals that came between the first poll and this moment were not heard.
      this.#woken({})
      return stop
    } catch (error) {
      this.#logger.warn(`Listening for wake-ups failed; events are found by polling. ${describeError(error)}`)
      return undefined
    }
  }

  // A database that is down must not keep the engine from finishing the work at hand.
  async #unlisten(): Promise<void> {
    const stop = await this.#stopListening
    try {
      await stop?.()
    } catch (error) {
      this.#logger.warn(`Ending the wake-ups failed. ${describeError(error)}`)
    }
  }

  #woken({ partitions, inMs = [0], controls = false }: WakeUp): void {
    if (controls) void this.#controlsChanged()
    else inMs.forEach((ms) => this.#alarm.wake(ms, partitions))
    if (partitions === undefined && inMs.includes(0)) this.#keeper?.wake()
  }

  // Without this refresh, rows that were just resumed would be handed back as paused until the next
  // heartbeat.
  async #controlsChanged(): Promise<void> {
    await this.#pauses.refresh()
    this.#source.forgetWaiting?.()
    this.#alarm.wake()
  }
}
