import { AsyncLocalStorage } from 'node:async_hooks'
import { type Clock, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import { type MetricsExporter, noMetrics } from '../observe/metrics.ts'
import { exponentialBackoff } from '../retry/exponential-backoff.ts'
import { ProcessingChain } from '../process/processing-chain.ts'
import { isBatchListener, type Route } from '../route/listener-registry.ts'
import type { Outcome, Settlement } from '../store/index.ts'
import { BoundedQueue } from '../delivery/bounded-queue.ts'
import { Waiters } from './waiters.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { DeliveryQueue } from '../delivery/delivery-queue.ts'
import type { LaneSettings, OutboxDispatcherOptions } from './dispatcher-options.ts'
import { FailureReports } from './failure-reports.ts'
import { fairTurns } from './fair-turns.ts'
import { HandBack } from '../settle/hand-back.ts'
import { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { KnownResults } from '../settle/known-results.ts'
import { LaneQueue } from '../delivery/lane-queue.ts'
import type { Pauses } from '../hold/pauses.ts'
import { ListenerCalls } from './listener-calls.ts'
import { Prefetch, prefetchMs } from './prefetch.ts'
import { Settler } from '../settle/settler.ts'
import { StoreRecovery } from '../store-calls/store-recovery.ts'

/** How long listeners have for reacting to the signal at the end of a shutdown. */
const abortGraceMs = 1_000

/** So many types without a listener are named in the log at the most. */
const maxWaitingTypes = 100

/**
 * Runs deliveries, `workerCount` at a time, from two bounded queues.
 *
 * Hot deliveries come straight from a commit, cold ones from the poller. Every delivery that was
 * accepted ends in one of two ways: it is settled, or it is handed back to the store.
 *
 * A suspect runs alone: everything queued is handed back first, so that if it ends the process
 * again, it is the only row left behind and its neighbours' crash counters stay low.
 */
export class OutboxDispatcher {
  readonly inFlight: InFlightTracker
  readonly hotQueue: BoundedQueue<Delivery>
  readonly #coldQueue: DeliveryQueue
  /** The cold queue, where it has lanes. */
  readonly lanes: LaneQueue | undefined
  readonly #options: OutboxDispatcherOptions
  readonly #workerCount: number
  readonly #maxUnsettled: number
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #metrics: MetricsExporter
  readonly #chain: ProcessingChain
  readonly #calls: ListenerCalls
  readonly #settler: Settler
  readonly #recovery: StoreRecovery
  readonly #knownResults: KnownResults
  readonly #handBack: HandBack
  readonly #failures: FailureReports
  readonly #prefetch: Prefetch | undefined
  readonly #nextTurn: () => 'hot' | 'cold'
  readonly #conditions = new Waiters()
  // Listeners must not run inside the transaction of whoever happened to wake the dispatcher.
  readonly #outsideTransactions = AsyncLocalStorage.snapshot()
  readonly #waitingTypes = new Set<string>()
  readonly #settlesFirst: boolean
  #suspect: Delivery | undefined
  #pumpScheduled = false
  #isWatching = false
  /** With so few in the cold queue there is room again that the poller was refused. */
  #lowWater = -1
  #wakesAtLowWater = false
  #intakeOpen = true
  #isClosed = false
  #isBarred = false

  constructor(options: OutboxDispatcherOptions) {
    const { clock = systemClock, logger = standardLogger, metrics = noMetrics, store } = options
    this.#options = options
    this.inFlight = options.inFlightTracker ?? new InFlightTracker()
    this.#clock = clock
    this.#logger = logger
    this.#metrics = metrics
    this.#workerCount = options.workerCount ?? 4
    this.#settlesFirst = options.settleFirst === true
    this.#maxUnsettled = options.maxUnsettled ?? 2_000
    this.hotQueue = new BoundedQueue(options.hotQueueCapacity ?? 1_000)
    const capacity = options.coldQueueCapacity ?? 1_000
    const { lanes } = options
    this.lanes =
      lanes &&
      new LaneQueue({
        capacity,
        laneOf: ({ row }) => lanes.laneOf(row),
        partitionOf: lanes.partitionOf,
        onEmptyLane: () => options.waker?.resume(),
      })
    const hotShare = options.hotShare ?? 2
    const coldQueue = new BoundedQueue<Delivery>(capacity)
    this.#coldQueue = this.lanes ?? coldQueue
    this.#prefetch =
      options.prefetch &&
      new Prefetch({
        hotQueue: this.hotQueue,
        coldQueue,
        workerCount: this.#workerCount,
        hotShare,
        first: options.prefetch.first,
        clock,
      })
    this.#nextTurn = fairTurns(hotShare)
    this.#failures = new FailureReports(clock, logger)
    this.#recovery = options.recovery ?? new StoreRecovery(clock)
    this.#handBack = new HandBack({ store, logger, recovery: this.#recovery, inFlight: this.inFlight })
    this.#chain = new ProcessingChain({
      listeners: options.listeners,
      codec: options.codec ?? JsonCodec.getDefault(),
      logger,
      retryPolicy: options.retryPolicy ?? exponentialBackoff(),
      retryPolicyByType: options.retryPolicyByType ?? {},
      maxAttempts: options.maxAttempts ?? 10,
      maxLosses: options.maxLosses ?? 20,
      onUnroutable: options.onUnroutable ?? 'dead',
      unroutableDelayMs: options.unroutableDelayMs ?? 60_000,
      deleteCompleted: options.deleteCompleted ?? false,
      onGivenUp: options.onGivenUp ?? (() => 'dead'),
      interceptors: options.interceptors ?? [],
      processors: options.processors ?? {},
    })
    this.#calls = new ListenerCalls({
      chain: this.#chain,
      clock,
      logger,
      metrics,
      prefetch: this.#prefetch,
      timeoutMs: options.listenerTimeoutMs ?? 300_000,
      graceMs: options.timeoutGraceMs ?? 30_000,
      onEnded: (deliveries, outcomes) => this.#ended(deliveries, outcomes),
    })
    this.#knownResults = new KnownResults(clock, options.resultsKeptMs ?? 120_000)
    this.#settler = new Settler({
      store,
      clock,
      logger,
      recovery: this.#recovery,
      onSettled: (delivery, settlement, refused) => this.#settled(delivery, settlement, refused),
    })
  }

  /** Whether new events are taken at all. */
  get accepts(): boolean {
    return this.#intakeOpen && !this.#isBarred && this.#suspect === undefined
  }

  /** Takes no more until `unbar`, and hands back what is queued. What runs is settled. */
  async bar(): Promise<void> {
    this.#isBarred = true
    await this.#handBackQueued()
  }

  /** Takes events again. */
  unbar(): void {
    this.#isBarred = false
  }

  coldQueueRemainingCapacity(): number {
    if (!this.accepts) return 0
    const { room, length } = this.#coldQueue
    if (this.#prefetch === undefined) return Math.max(0, room)

    const limit = this.#prefetch.coldLimit(this.#calls.size)
    const left = Math.min(room, limit - length)
    if (left > 0) return left
    this.#lowWater = Math.min(limit, this.#coldQueue.capacity) >> 1
    return 0
  }

  /** Keeps a place in the hot queue; false where there is none, or where the event would wait for long. */
  reserveHot(): boolean {
    const taken = this.hotQueue.capacity - this.hotQueue.room
    if (this.#prefetch !== undefined && taken >= this.#workerCount) {
      if (taken >= this.#prefetch.hotLimit(this.#calls.size)) return false
    }
    return this.hotQueue.reserve()
  }

  /** Returns false when there was no room; the row is then handed back. */
  enqueueHot(delivery: Delivery): boolean {
    // A commit was seen.
    this.#recovery.answered()
    const answer = this.#accept(delivery, this.hotQueue)
    if (answer === 'queued') this.#metrics.incrementHotEnqueued()
    else if (answer === 'refused') this.#wakePoller()
    return answer !== 'refused'
  }

  /** Returns false when there was no room; the row is then handed back. */
  enqueueCold(delivery: Delivery): boolean {
    const answer = this.#accept(delivery, this.#coldQueue)
    if (answer === 'queued') this.#metrics.incrementColdEnqueued()
    return answer !== 'refused'
  }

  /** Gives back a row that will not be run here after all, for the poller to find. */
  handBack(delivery: Delivery): void {
    void this.#handBack.letGo([delivery, ...this.#endTurn(delivery, false)]).then(() => this.#wakePoller())
    this.#conditions.changed()
  }

  /** Carries on with leases that this process took on rows in its hands. A row that it holds no longer is free again. */
  carryOn(claimed: readonly Delivery[]): void {
    for (const delivery of claimed) {
      if (this.inFlight.get(delivery.rowId) !== undefined) this.#alreadyHere(delivery)
      else void this.#handBack.release([delivery])
    }
  }

  /** Resolves when all of these are settled, were handed back, or were given up because the process ends. */
  async untilSettled(deliveries: readonly Delivery[]): Promise<void> {
    const isOver = () => this.#isClosed || deliveries.every(({ ended }) => ended)
    await this.#conditions.until(() => this.#isIdle || isOver())
    // No other result comes that these could share a statement with.
    this.#settler.flush()
    await this.#conditions.until(isOver)
  }

  /** Begins nothing more of a partition, and resolves when nothing of it is in hand any more. */
  async leavePartition(partition: number): Promise<void> {
    const { lanes } = this
    if (lanes === undefined) return
    await this.#handBack.letGo(lanes.takePartition(partition))
    this.#options.waker?.resume()
    this.#settler.flush()
    await this.#conditions.until(() => !lanes.hasPartition(partition))
  }

  /** Runs the listener for whatever comes from now on, also where it has succeeded before. */
  forgetResults(): void {
    this.#knownResults.clear()
  }

  /** Resolves when nothing is queued, running or waiting for its settlement. */
  async idle(): Promise<void> {
    while (!this.#isIdle || this.#settler.backlog > 0) {
      await this.#conditions.until(() => this.#isIdle)
      await this.#settler.drained()
    }
  }

  /**
   * Takes no more. Goes on with queued work for `drainTimeoutMs`, hands back at once what is then
   * not running, waits for running listeners for `shutdownTimeoutMs`, and settles. What a listener answers after that is ignored.
   */
  async close({ drainTimeoutMs = 5_000, shutdownTimeoutMs = 15_000 } = {}): Promise<void> {
    this.#intakeOpen = false
    this.#schedulePump()
    await this.#within(drainTimeoutMs, () => this.#queued === 0)
    await this.#handBackQueued()
    await this.#options.onlyRunning?.(this)
    await this.#finishRunning(shutdownTimeoutMs)
    await this.#settleWithin(drainTimeoutMs)
    this.#failures.flush()
    this.#isClosed = true
    this.#conditions.changed()
  }

  #accept(delivery: Delivery, queue: DeliveryQueue): 'queued' | 'present' | 'refused' {
    if (this.inFlight.keepAwaited(delivery)) return 'present'
    if (!this.inFlight.tryAcquire(delivery)) {
      this.#alreadyHere(delivery)
      return 'present'
    }
    if (!this.accepts || !queue.offer(delivery)) {
      void this.#handBack.letGo([delivery])
      return 'refused'
    }
    // Before anything else that is queued: it must not be in hand when that ends the process.
    if (this.#mustRunAlone(delivery)) void this.#runAlone(delivery)
    this.#schedulePump()
    return 'queued'
  }

  // An unclaimed read may bring what is in hand or was settled meanwhile: nothing to do. A claim
  // of the same row is real: it renews what is in hand, or has to be given back.
  #alreadyHere(delivery: Delivery): void {
    if (delivery.lock !== undefined) return
    const present = this.inFlight.get(delivery.rowId)!
    if (present.ended) void this.#handBack.release([delivery])
    else present.claimedAgain(delivery.row, delivery.leaseUntil)
    delivery.ended = true
  }

  #schedulePump(): void {
    if (this.#pumpScheduled) return
    this.#pumpScheduled = true
    // Not now: whoever commits or polls goes on first.
    setImmediate(() => {
      this.#pumpScheduled = false
      this.#outsideTransactions(() => this.#pump())
    })
  }

  #pump(): void {
    while (this.#hasFreeSlot) {
      const delivery = this.#next()
      if (delivery === undefined) break
      this.#start(delivery)
    }
    // Workers wait for settlements, which need not wait for company.
    if (this.#options.settleFirst === true) this.#settler.flush()
    // Lanes wait for settlements: with nothing else to begin there is no company to wait for.
    if (this.lanes !== undefined && this.#calls.size === 0 && this.lanes.peek() === undefined) {
      this.#settler.flushNow()
    }
    this.#watchWaiting()
    this.#metrics.recordQueueDepths(this.hotQueue.length, this.#coldQueue.length)
    this.#conditions.changed()
  }

  #mustRunAlone(delivery: Delivery): boolean {
    return delivery.isSuspect && !this.#chain.givesUp(delivery)
  }

  get #hasFreeSlot(): boolean {
    if (this.#suspect !== undefined) return false
    const { backlog } = this.#settler
    const taken = this.#settlesFirst ? this.#calls.size + backlog : this.#calls.size
    return taken < this.#workerCount && backlog < this.#maxUnsettled
  }

  #next(): Delivery | undefined {
    return this.#nextTurn() === 'hot'
      ? (this.#takeFrom(this.hotQueue) ?? this.#takeFrom(this.#coldQueue))
      : (this.#takeFrom(this.#coldQueue) ?? this.#takeFrom(this.hotQueue))
  }

  /** The next delivery that is surely still ours and not paused; others are let go of. */
  #takeFrom(queue: DeliveryQueue, after?: Delivery): Delivery | undefined {
    const { mayBegin, breaker } = this.#options
    const isHot = queue === this.hotQueue
    if (!isHot && queue.length > 0 && mayBegin?.(() => this.#schedulePump()) === false) return undefined
    for (;;) {
      const delivery = queue.take(after)
      if (delivery === undefined) return undefined

      if (!isHot) this.#tookCold(queue)
      if (!delivery.isHeld(this.#clock.monotonic())) {
        this.handBack(delivery)
      } else if (this.#options.pauses?.isPaused(delivery.row)) {
        this.#handBackPaused(delivery, this.#options.pauses)
      } else if (isHot && breaker?.begin() === false) {
        // At its next tick the poller tries it: it must not be woken for each.
        void this.#handBack.letGo([delivery])
      } else {
        return delivery
      }
    }
  }

  // The store may have handed it out because it was resumed elsewhere: without asking it, the poller would fetch it again and again.
  #handBackPaused(delivery: Delivery, pauses: Pauses): void {
    void this.#handBack
      .letGo([delivery, ...this.#endTurn(delivery, false)])
      .then(() => pauses.refresh())
      .then(() => this.#wakePoller())
    this.#conditions.changed()
  }

  #tookCold({ length, capacity }: DeliveryQueue): void {
    const hasRoom = this.#prefetch === undefined ? length === capacity >> 1 : length <= this.#lowWater
    if (!hasRoom) return
    this.#lowWater = -1
    if (this.#wakesAtLowWater) this.#wakePoller()
    else this.#options.waker?.resume()
    this.#wakesAtLowWater = false
  }

  /** Looks now and then at what is queued, as long as that is more than the workers have in a turn. */
  #watchWaiting(): void {
    const waiting = this.hotQueue.length + this.#coldQueue.length
    if (this.#prefetch === undefined || this.#isWatching || waiting <= this.#workerCount) return
    this.#isWatching = true
    this.#clock.schedule(prefetchMs, () => {
      this.#isWatching = false
      if (this.accepts) void this.#handBackWaiting(this.#prefetch!)
      this.#watchWaiting()
    })
  }

  // The poller of this process takes as much of it again as there is room for, and not more.
  async #handBackWaiting(prefetch: Prefetch): Promise<void> {
    const waiting = prefetch.takeWaiting(this.#calls.size)
    if (waiting.length === 0) return
    this.#lowWater = prefetch.coldLimit(this.#calls.size) >> 1
    this.#wakesAtLowWater = true
    await this.#handBack.letGo(waiting)
    this.#options.waker?.announce()
    this.#tookCold(this.#coldQueue)
  }

  #start(delivery: Delivery): void {
    const known = this.#knownResults.take(delivery)
    if (known !== undefined) return this.#calls.start([delivery], Promise.resolve(known))

    const route = this.#chain.routeOf(delivery)
    if (route !== undefined && isBatchListener(route.listener)) return this.#startBatch(delivery, route)

    this.#calls.start([delivery], this.#chain.process(delivery, route), route?.options.timeoutMs)
  }

  // A batch is what stands at the front of the queue for the same listener: nothing is waited for.
  #startBatch(first: Delivery, route: Route): void {
    const { maxBatchSize = 100, timeoutMs } = route.options
    const queue = first.source === 'hot' ? this.hotQueue : this.#coldQueue
    const batch = [first]
    let last = first
    for (
      let next = queue.peek(last);
      batch.length < maxBatchSize && next !== undefined;
      next = queue.peek(last)
    ) {
      if (this.#chain.routeOf(next)?.listener !== route.listener || this.#knownResults.has(next)) break
      const taken = this.#takeFrom(queue, last)
      if (taken === undefined) break
      batch.push(taken)
      last = taken
    }
    this.#calls.start(batch, this.#chain.processBatch(batch, route), timeoutMs, maxBatchSize)
  }

  #ended(deliveries: readonly Delivery[], outcomes: Outcome | readonly Outcome[]): void {
    const { onOutcome } = this.#options
    if (onOutcome !== undefined) [outcomes].flat().forEach(onOutcome)
    if ('kind' in outcomes) this.#settler.add(deliveries[0]!, outcomes)
    else if (this.lanes === undefined) {
      deliveries.forEach((delivery, index) => this.#settler.add(delivery, outcomes[index]!))
    } else {
      this.#endedInLanes(deliveries, outcomes, this.#options.lanes!)
    }
    this.#pump()
  }

  // What stands behind a failed event of its lane counts as not delivered, whatever its listener says.
  #endedInLanes(
    deliveries: readonly Delivery[],
    outcomes: readonly Outcome[],
    { laneOf }: LaneSettings,
  ): void {
    const stopped = new Set<string>()
    for (const [index, delivery] of deliveries.entries()) {
      const lane = laneOf(delivery.row)
      if (stopped.has(lane)) {
        this.handBack(delivery)
        continue
      }
      const outcome = outcomes[index]!
      if (!this.#goesOnAfter(outcome)) stopped.add(lane)
      this.#settler.add(delivery, outcome)
    }
  }

  /** Whether what stands behind an event in its lane may be delivered now. */
  #goesOnAfter({ kind }: Outcome): boolean {
    return (
      kind === 'done' || kind === 'delete' || kind === 'dead' || this.#options.lanes?.onFailure === 'goOn'
    )
  }

  /** Lets the next in a delivery's lane have its turn; otherwise answers what is not to be run here any more. */
  #endTurn(delivery: Delivery, goesOn: boolean): readonly Delivery[] {
    return delivery.source === 'cold' ? (this.lanes?.release(delivery, goesOn) ?? []) : []
  }

  /**
   * The suspect itself is handed back, too, and claimed again when nothing runs any more: if
   * something else ends the process meanwhile, that is not held against it.
   */
  async #runAlone(suspect: Delivery): Promise<void> {
    const { eventId, eventType, losses } = suspect.row
    this.#suspect = suspect
    this.#logger.warn(
      `Event ${eventId} (${eventType}) was in hand when its process ended ${losses} times in a row: it runs alone now.`,
    )
    let claimed: Delivery | undefined
    try {
      await this.#handBack.letGo([
        ...new Set([suspect, ...this.hotQueue.takeAll(), ...this.#coldQueue.takeAll()]),
      ])
      await this.#options.recordHeld?.()
      await this.#conditions.until(() => this.#calls.size === 0)
      await this.#settler.drained()
      if (this.#intakeOpen && !this.#isBarred) claimed = await this.#options.claimAgain?.(suspect)
    } catch (error) {
      this.#logger.error(`Clearing the way for event ${eventId} failed. ${describeError(error)}`)
    }
    if (claimed !== undefined && this.inFlight.tryAcquire(claimed)) {
      this.#suspect = claimed
      this.#start(claimed)
    } else {
      this.#suspectDone()
    }
  }

  #suspectDone(): void {
    this.#suspect = undefined
    this.#wakePoller()
    this.#conditions.changed()
  }

  #settled(delivery: Delivery, { row, outcome }: Settlement, refused: boolean): void {
    this.inFlight.release(delivery)
    delivery.hasSucceeded = !refused && (outcome.kind === 'done' || outcome.kind === 'delete')
    if (delivery.source === 'hot') this.#options.breaker?.ended(delivery.hasSucceeded)
    const left = this.#endTurn(delivery, !refused && this.#goesOnAfter(outcome))
    if (left.length > 0) {
      void this.#handBack.letGo(left)
      this.#options.waker?.resume()
    }
    // Claimed again by this process before the settlement was acknowledged: that claim has no delivery.
    if (delivery.deliveries !== row.deliveries) this.handBack(delivery)
    if (delivery === this.#suspect) this.#suspectDone()
    this.#schedulePump()

    if (refused) {
      this.#knownResults.add(delivery, outcome)
      this.#metrics.incrementSettlementRefused()
      if (delivery.lock !== undefined) this.#options.onRefusedUnderLock?.()
      this.#wakePoller()
      this.#failures.tell(
        'warn',
        'settlements were refused',
        `The settlement of event ${delivery.row.eventId} came too late and was refused: another process holds it and delivers it again.`,
      )
      return
    }
    this.#report(delivery, outcome)
    if (!('delayMs' in outcome) || 'quiet' in outcome) return
    // A worker without a listener must not be the first that finds the event again: others may have one.
    if (outcome.kind === 'defer' && this.#chain.routeOf(delivery) === undefined) this.#unroutable(delivery)
    else this.#wakePoller(outcome.delayMs)
  }

  /** Says once for each type that its events wait. */
  #unroutable({ row }: Delivery): void {
    const { aggregateType, eventType, eventId } = row
    const type = `"${eventType}" of aggregate type "${aggregateType}"`
    if (this.#waitingTypes.has(type) || this.#waitingTypes.size >= maxWaitingTypes) return
    this.#waitingTypes.add(type)
    const holdsUp = this.#options.lanes?.onFailure === 'wait'
    this.#logger.warn(
      `Event ${eventId} waits, like all events of type ${type}: this process has no listener for it` +
        `${holdsUp ? ', and what was written behind it in the same order waits as well' : ''}. ` +
        'Register one, or stop this process where another has one.',
    )
  }

  #report(delivery: Delivery, outcome: Outcome): void {
    if ('failure' in outcome) this.#failures.report(delivery, outcome, this.#chain.maxAttemptsOf(delivery))
    switch (outcome.kind) {
      case 'retry':
      case 'block':
        return this.#metrics.incrementDispatchFailure()
      case 'defer':
        return this.#metrics.incrementDispatchDeferred()
      case 'dead':
        return this.#metrics.incrementDispatchDead()
      default:
        return this.#metrics.incrementDispatchSuccess()
    }
  }

  #handBackQueued(): Promise<void> {
    return this.#handBack.letGo([...this.hotQueue.takeAll(), ...this.#coldQueue.takeAll()])
  }

  async #finishRunning(timeoutMs: number): Promise<void> {
    await this.#within(timeoutMs, () => this.#isIdle)
    this.#calls.abortAll(
      new OutboxError('OUTBOX_SHUTDOWN', 'The outbox is closing and cannot wait any longer.'),
    )
    await this.#within(abortGraceMs, () => this.#isIdle)
    if (this.#calls.size > 0) {
      this.#logger.warn(
        `${this.#calls.size} listeners did not return in time. Their events are delivered again when their leases have run out.`,
      )
    }
    this.#calls.abandon()
  }

  async #settleWithin(timeoutMs: number): Promise<void> {
    const cancel = this.#clock.schedule(timeoutMs, () => this.#settler.giveUp(), 'keepAlive')
    await this.#settler.drained()
    cancel()
    this.#settler.giveUp()
    if (this.#settler.backlog > 0) {
      this.#logger.error(
        `${this.#settler.backlog} delivered events could not be settled and will be delivered again.`,
      )
    }
  }

  get #queued(): number {
    return this.hotQueue.length + this.#coldQueue.length
  }

  get #isIdle(): boolean {
    return this.#calls.size === 0 && this.#queued === 0 && this.#suspect === undefined
  }

  /** Resolves when something is true, or its time is over. */
  async #within(timeoutMs: number, isTrue: () => boolean): Promise<void> {
    if (isTrue()) return
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.schedule(timeoutMs, resolve, 'keepAlive')
      void this.#conditions.until(isTrue).then(() => {
        cancel()
        resolve()
      })
    })
  }

  #wakePoller(inMs?: number): void {
    this.#options.waker?.wake(inMs)
  }
}
