import { BoundedQueue } from '../delivery/bounded-queue.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { LanesToFill } from '../delivery/lanes-to-fill.ts'
import type { EngineMetrics } from '../observe/metrics.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import { ProcessingChain } from '../process/processing-chain.ts'
import { HandBack } from '../settle/hand-back.ts'
import { KnownResults } from '../settle/known-results.ts'
import { Settler } from '../settle/settler.ts'
import { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { DestinationLimits, Outcome } from '../store/index.ts'
import type { Waker } from '../wake/waker.ts'
import { DeliveryReports } from './delivery-reports.ts'
import { DispatchQueues } from './dispatch-queues.ts'
import {
  closeDefaults,
  dispatchDefaults,
  type OutboxDispatcherOptions,
  withDefaults,
} from './dispatcher-options.ts'
import { IntakeGate } from './intake-gate.ts'
import { Intake } from './intake.ts'
import { LaneTurns } from './lane-turns.ts'
import { ListenerCalls } from './listener-calls.ts'
import { ListenerStarts } from './listener-starts.ts'
import { Prefetch } from './prefetch.ts'
import { Pump } from './pump.ts'
import { QueueRoom } from './queue-room.ts'
import { SettledDeliveries } from './settled-deliveries.ts'
import { Shutdown } from './shutdown.ts'
import type { StoppableDispatcher } from './suspect-turns.ts'
import { Suspects } from './suspects.ts'
import { UnrunDeliveries } from './unrun-deliveries.ts'
import { Waiters } from './waiters.ts'

/**
 * Runs deliveries, `workerCount` at a time, from two bounded queues.
 *
 * Hot deliveries come straight from a commit, cold ones from the poller. Every accepted delivery ends in one
 * of two ways: it is settled, or it is handed back to the store.
 */
export class OutboxDispatcher implements StoppableDispatcher {
  readonly inFlight: InFlightTracker
  readonly hotQueue: BoundedQueue<Delivery>
  /** The lanes of the cold queue, for a source to fill; undefined if the cold queue has none. */
  readonly lanes: LanesToFill | undefined
  readonly #laneTurns: LaneTurns | undefined
  readonly #queues: DispatchQueues
  readonly #gate = new IntakeGate()
  readonly #intake: Intake
  readonly #room: QueueRoom
  readonly #pump: Pump
  readonly #settler: Settler
  readonly #settled: SettledDeliveries
  readonly #unrun: UnrunDeliveries
  readonly #shutdown: Shutdown
  readonly #reports: DeliveryReports
  readonly #waiters: Waiters
  readonly #handBack: HandBack
  readonly #knownResults: KnownResults
  readonly #recovery: StoreRecovery
  readonly #metrics: EngineMetrics
  readonly #waker: Waker | undefined
  readonly #calls: ListenerCalls
  readonly #recordHeld: (() => Promise<void>) | undefined
  readonly #onOutcome: ((outcome: Outcome) => void) | undefined
  /** The breaker that decides about hot and cold deliveries alike. */
  readonly #breaker: CircuitBreaker | undefined
  /** Its limits, for the report of its process. */
  readonly limits: DestinationLimits
  #isClosed = false

  constructor(options: OutboxDispatcherOptions) {
    const settings = withDefaults(options)
    const maxAttempts = settings.retryPolicy.maxAttempts ?? settings.maxAttempts
    this.limits = {
      concurrency: settings.workerCount,
      timeoutMs: settings.listenerTimeoutMs,
      // A report is JSON, which has no infinite number.
      maxAttempts: Number.isFinite(maxAttempts) ? maxAttempts : null,
    }
    const { clock, logger, metrics, store, coldQueueCapacity, prefetch } = settings
    this.#waker = settings.waker
    this.#metrics = metrics
    this.#onOutcome = settings.onOutcome
    this.#breaker = settings.breaksCold === true ? settings.breaker : undefined
    this.inFlight = settings.inFlightTracker ?? new InFlightTracker()
    this.#recovery = settings.recovery ?? new StoreRecovery(clock)
    this.#waiters = new Waiters(clock)
    this.#handBack = new HandBack({ store, logger, recovery: this.#recovery, inFlight: this.inFlight })
    this.#knownResults = new KnownResults(clock, settings.resultsKeptMs, dispatchDefaults.maxUnsettled)
    this.#laneTurns = settings.lanes && new LaneTurns(settings.lanes, coldQueueCapacity, settings.waker)
    this.lanes = this.#laneTurns?.queue
    const coldQueue = new BoundedQueue<Delivery>(coldQueueCapacity)
    this.hotQueue = new BoundedQueue(settings.hotQueueCapacity)
    this.#queues = new DispatchQueues(this.hotQueue, this.#laneTurns?.queue ?? coldQueue)
    const limits =
      prefetch && new Prefetch({ ...settings, hotQueue: this.hotQueue, coldQueue, first: prefetch.first })
    const chain = new ProcessingChain({
      listeners: settings.listeners,
      codec: settings.codec,
      logger,
      retryPolicy: settings.retryPolicy,
      retryPolicyByType: settings.retryPolicyByType,
      maxAttempts: settings.maxAttempts,
      maxLosses: settings.maxLosses,
      onUnroutable: settings.onUnroutable,
      unroutableDelayMs: settings.unroutableDelayMs,
      deleteCompleted: settings.deleteCompleted,
      onGivenUp: settings.onGivenUp,
      interceptors: settings.interceptors,
      processors: settings.processors,
      rules: settings.rules,
    })
    const calls = new ListenerCalls({
      chain,
      clock,
      logger,
      metrics,
      prefetch: limits,
      timeoutMs: settings.listenerTimeoutMs,
      graceMs: settings.timeoutGraceMs,
      onEnded: (deliveries, outcomes) => this.#ended(deliveries, outcomes),
    })
    this.#calls = calls
    this.#recordHeld = settings.recordHeld
    this.#settler = new Settler({
      store,
      clock,
      logger,
      recovery: this.#recovery,
      onSettled: (...settled) => this.#settled.settled(...settled),
      onBatch: () => this.#reports.batchEnded(),
      areRetriesAwaited: this.#laneTurns?.waitsAfterFailure === false,
      metrics,
      tracing: settings.tracing,
    })

    const parts = {
      ...settings,
      chain,
      calls,
      inFlight: this.inFlight,
      lanes: this.#laneTurns,
      queues: this.#queues,
      prefetch: limits,
      gate: this.#gate,
      settler: this.#settler,
      waiters: this.#waiters,
      handBack: this.#handBack,
      knownResults: this.#knownResults,
    }
    this.#unrun = new UnrunDeliveries(parts)
    this.#room = new QueueRoom(parts)
    this.#reports = new DeliveryReports(parts)
    const starts = new ListenerStarts(parts)
    this.#pump = new Pump({ ...parts, unrun: this.#unrun, room: this.#room, starts })
    const running = { ...parts, unrun: this.#unrun, pump: this.#pump, reports: this.#reports }
    const { suspectTurns } = settings
    suspectTurns?.add(this)
    const suspects = new Suspects({
      ...running,
      stopOthers: suspectTurns && (() => suspectTurns.begin(this)),
    })
    this.#intake = new Intake({ ...running, suspects })
    this.#settled = new SettledDeliveries({ ...running, suspects })
    this.#shutdown = new Shutdown({ ...running, leaseTaker: this })
  }

  /** Whether the dispatcher takes new events. */
  get accepts(): boolean {
    return this.#gate.accepts
  }

  /** Takes no more events until `unbar`, and hands back queued ones. Running ones are settled. */
  async bar(): Promise<void> {
    this.#gate.bar()
    await this.#unrun.handBackQueued()
  }

  /** Takes events again. */
  unbar(): void {
    this.#gate.unbar()
  }

  /**
   * Begins nothing until `goOn`, because another dispatcher of the process runs a suspect. Hands queued
   * deliveries back, and resolves when nothing runs.
   */
  async standStill(): Promise<void> {
    this.#gate.standsStill = true
    await this.#unrun.handBackQueued()
    // A poll that began before may still claim rows, and they are on their way back when it ends.
    await this.inFlight.untilNoPoll()
    await this.#handBack.idle()
    await this.#recordHeld?.()
    await this.#waiters.until(() => this.#calls.size === 0)
    await this.#settler.drained()
  }

  /** Begins deliveries again after `standStill`. */
  goOn(): void {
    this.#gate.standsStill = false
    this.#waker?.wake()
    this.#pump.schedule()
  }

  /** How many deliveries `enqueueCold` has room for. */
  coldQueueRemainingCapacity(): number {
    return this.#room.coldRoom()
  }

  /** How many deliveries wait in each queue. */
  get queueLengths(): { readonly hot: number; readonly cold: number } {
    return { hot: this.hotQueue.length, cold: this.#queues.cold.length }
  }

  /** How many listeners run now. */
  get runningListeners(): number {
    return this.#calls.size
  }

  /** Reserves a place in the hot queue. Returns false if there is none, or the event would wait too long. */
  reserveHot(): boolean {
    return this.#room.reserveHot()
  }

  /**
   * Queues a delivery that comes from a commit. Returns false if there was no room; the row is then handed
   * back.
   */
  enqueueHot(delivery: Delivery): boolean {
    // A commit succeeded, so the store works.
    this.#recovery.answered()
    const acceptance = this.#intake.accept(delivery, this.hotQueue)
    if (acceptance === 'queued') this.#metrics.incrementHotEnqueued()
    else if (acceptance === 'refused') this.#waker?.wake()
    return acceptance !== 'refused'
  }

  /**
   * Queues a delivery that comes from the poller. Returns false if there was no room; the row is then handed
   * back.
   */
  enqueueCold(delivery: Delivery): boolean {
    const acceptance = this.#intake.accept(delivery, this.#queues.cold)
    if (acceptance === 'queued') this.#pump.coldQueued()
    return acceptance !== 'refused'
  }

  /** Hands back a row that will not run here after all, for the poller to find. */
  handBack(delivery: Delivery): void {
    this.#unrun.handBack(delivery)
  }

  /**
   * Continues with new leases on rows that this process holds. Frees the rows that it does not hold any more.
   */
  carryOn(claimed: readonly Delivery[]): void {
    this.#intake.carryOn(claimed)
  }

  /** Resolves when all of these deliveries are settled, handed back, or given up because the process ends. */
  async untilSettled(deliveries: readonly Delivery[]): Promise<void> {
    const isOver = () => this.#isClosed || deliveries.every(({ ended }) => ended)
    await this.#waiters.until(() => this.#pump.isIdle || isOver())
    // No other result will come that could share a statement with these.
    this.#settler.flush()
    await this.#waiters.until(isOver)
  }

  /** Begins no more deliveries of a partition, and resolves when this process holds no row of it. */
  async leavePartition(partition: number): Promise<void> {
    const queue = this.#laneTurns?.queue
    if (queue === undefined) return
    await this.#handBack.letGo(queue.takePartition(partition))
    this.#waker?.resume()
    this.#settler.flush()
    await this.#waiters.until(() => !queue.hasPartition(partition))
  }

  /** Forgets earlier successes. A listener then runs for every row that arrives. */
  forgetResults(): void {
    this.#knownResults.clear()
  }

  /** Resolves when no delivery is queued, running or waiting for its settlement. */
  async idle(): Promise<void> {
    while (!this.#pump.isIdle || this.#settler.backlog > 0) {
      await this.#waiters.until(() => this.#pump.isIdle)
      await this.#settler.drained()
    }
  }

  /**
   * Takes no more events. Works through the queues for `drainTimeoutMs`, and then hands back at once whatever
   * has not begun. Waits for running listeners for `shutdownTimeoutMs`, and settles their events. Ignores
   * later results.
   */
  async close({
    drainTimeoutMs = closeDefaults.drainTimeoutMs,
    shutdownTimeoutMs = closeDefaults.shutdownTimeoutMs,
  } = {}): Promise<void> {
    await this.#shutdown.run({ drainTimeoutMs, shutdownTimeoutMs })
    this.#reports.flush()
    this.#isClosed = true
    this.#waiters.changed()
  }

  #ended(deliveries: readonly Delivery[], outcomes: Outcome | readonly Outcome[]): void {
    if (this.#onOutcome !== undefined) [outcomes].flat().forEach(this.#onOutcome)
    // Settlements come late: many other deliveries would begin before the breaker learns of these.
    if (this.#breaker !== undefined) {
      for (const { kind } of [outcomes].flat()) this.#breaker.ended(kind === 'done' || kind === 'delete')
    }
    this.#pump.ended('kind' in outcomes ? outcomes : outcomes[0]!)
    if ('kind' in outcomes) this.#settler.add(deliveries[0]!, outcomes)
    else if (this.#laneTurns === undefined) {
      deliveries.forEach((delivery, index) => this.#settler.add(delivery, outcomes[index]!))
    } else {
      this.#laneTurns.settleBatch(deliveries, outcomes, this.#settler, this.#unrun)
    }
    this.#pump.run()
  }
}
