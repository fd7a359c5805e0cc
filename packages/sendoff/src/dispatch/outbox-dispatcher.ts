import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import type { Logger } from '../observe/logger.ts'
import type { MetricsExporter } from '../observe/metrics.ts'
import type { ProcessingChain } from '../process/processing-chain.ts'
import type { OutboxStore, Outcome } from '../store.ts'
import { BoundedQueue } from './bounded-queue.ts'
import type { Delivery } from './delivery.ts'
import { fairTurns } from './fair-turns.ts'
import type { InFlightTracker } from './in-flight-tracker.ts'
import type { Settler } from './settler.ts'
import { TimeLimits } from './time-limits.ts'

export interface OutboxDispatcherOptions {
  readonly store: Pick<OutboxStore<never>, 'release'>
  readonly chain: ProcessingChain
  readonly settler: Settler
  readonly inFlight: InFlightTracker
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: MetricsExporter
  readonly workerCount: number
  readonly hotQueueCapacity: number
  readonly coldQueueCapacity: number
  /** Turns of the hot queue for each one of the cold queue. */
  readonly hotShare: number
  /** How long a listener may take, where its registration does not say. */
  readonly listenerTimeoutMs: number
  /** How long a listener that was told to stop may go on before it is given up. */
  readonly timeoutGraceMs: number
  /** Runs before a suspect: the database must know that this process holds nothing else. */
  readonly beforeSuspect: () => Promise<void>
  /** The cold queue has room again, or rows were let go of: the poller should look. */
  readonly onRoom: () => void
}

/** So many vanished holders make an event a suspect: it may be what ended them. */
const suspectLosses = 3

/** Unacknowledged outcomes beyond this stop new work until the store answers. */
const maxUnsettled = 2_000

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
  readonly hotQueue: BoundedQueue<Delivery>
  readonly #coldQueue: BoundedQueue<Delivery>
  readonly #options: OutboxDispatcherOptions
  readonly #nextTurn: () => 'hot' | 'cold'
  readonly #timeLimits: TimeLimits<Delivery>
  readonly #graceLimits: TimeLimits<Delivery>
  readonly #running = new Set<Delivery>()
  // Listeners must not run inside the transaction of whoever happened to wake the dispatcher.
  readonly #outsideTransactions = AsyncLocalStorage.snapshot()
  #suspect: Delivery | undefined
  #pumpScheduled = false
  #intakeOpen = true
  #waiters: { readonly ready: () => boolean; readonly resolve: () => void }[] = []

  constructor(options: OutboxDispatcherOptions) {
    this.#options = options
    this.hotQueue = new BoundedQueue(options.hotQueueCapacity)
    this.#coldQueue = new BoundedQueue(options.coldQueueCapacity)
    this.#nextTurn = fairTurns(options.hotShare)
    this.#timeLimits = new TimeLimits(options.clock, (delivery) => this.#tellToStop(delivery))
    this.#graceLimits = new TimeLimits(options.clock, (delivery) => void this.#abandon(delivery))
  }

  get runningCount(): number {
    return this.#running.size
  }

  get queuedCount(): number {
    return this.hotQueue.length + this.#coldQueue.length
  }

  /** Whether new events are taken at all. */
  get accepts(): boolean {
    return this.#intakeOpen && this.#suspect === undefined
  }

  coldQueueRemainingCapacity(): number {
    return this.accepts ? Math.max(0, this.#coldQueue.room) : 0
  }

  /** Returns false when there was no room; the row is then handed back. */
  enqueueHot(delivery: Delivery): boolean {
    const answer = this.#accept(delivery, this.hotQueue)
    if (answer === 'queued') this.#options.metrics.incrementHotEnqueued()
    return answer !== 'refused'
  }

  /** Returns false when there was no room; the row is then handed back. */
  enqueueCold(delivery: Delivery): boolean {
    const answer = this.#accept(delivery, this.#coldQueue)
    if (answer === 'queued') this.#options.metrics.incrementColdEnqueued()
    return answer !== 'refused'
  }

  /** Takes no more; resolves when nothing is queued and nothing runs, or after the time given. */
  async drain(timeoutMs: number): Promise<void> {
    this.#intakeOpen = false
    this.#pump()
    await this.#idleWithin(timeoutMs)
  }

  /** Hands back at once what is queued and not running. */
  async handBackQueued(): Promise<void> {
    await this.#handBack([...this.hotQueue.takeAll(), ...this.#coldQueue.takeAll()])
  }

  /** Waits for running listeners; those that need longer are told to stop. */
  async finishRunning(timeoutMs: number): Promise<void> {
    await this.#idleWithin(timeoutMs)
    for (const delivery of this.#running) {
      delivery.abort(new OutboxError('OUTBOX_SHUTDOWN', 'The outbox is closing and cannot wait any longer.'))
    }
    await this.#idleWithin(abortGraceMs)
    if (this.#running.size > 0) {
      this.#options.logger.warn(
        `${this.#running.size} listeners did not return in time. Their events are delivered again when their leases have run out.`,
      )
    }
  }

  /** The settler has acknowledged an outcome, so that there is room for more work. */
  settled(delivery: Delivery): void {
    this.#options.inFlight.release(delivery)
    if (delivery === this.#suspect) {
      this.#suspect = undefined
      this.#options.onRoom()
    }
    this.#schedulePump()
  }

  #accept(delivery: Delivery, queue: BoundedQueue<Delivery>): 'queued' | 'present' | 'refused' {
    if (!this.#options.inFlight.tryAcquire(delivery)) {
      this.#alreadyHere(delivery)
      return 'present'
    }
    if (!this.accepts || !queue.offer(delivery)) {
      void this.#handBack([delivery])
      return 'refused'
    }
    this.#schedulePump()
    return 'queued'
  }

  // An unclaimed read may bring what is in hand or was settled meanwhile: nothing to do. A claim
  // of the same row is real: it renews what is in hand, or has to be given back.
  #alreadyHere(delivery: Delivery): void {
    if (delivery.lock !== undefined) return
    const present = this.#options.inFlight.get(delivery.key)!
    if (present.settled) void this.#release([delivery])
    else present.claimedAgain(delivery.row, delivery.leaseUntil)
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
    const { workerCount, settler, chain, metrics } = this.#options
    while (
      this.#running.size < workerCount &&
      this.#suspect === undefined &&
      settler.backlog < maxUnsettled
    ) {
      const delivery = this.#next()
      if (delivery === undefined) break
      if (delivery.row.losses >= suspectLosses && !chain.givesUp(delivery)) void this.#runAlone(delivery)
      else this.#start(delivery)
    }
    metrics.recordQueueDepths(this.hotQueue.length, this.#coldQueue.length)
    this.#wakeWaiters()
  }

  /** The next delivery that is surely still ours; those that are not are dropped. */
  #next(): Delivery | undefined {
    for (;;) {
      const [first, second] =
        this.#nextTurn() === 'hot' ? [this.hotQueue, this.#coldQueue] : [this.#coldQueue, this.hotQueue]
      const delivery = first.take() ?? second.take()
      if (delivery === undefined) return undefined

      if (delivery.source === 'cold' && this.#coldQueue.length === this.#coldQueue.capacity >> 1) {
        this.#options.onRoom()
      }
      if (delivery.isHeld(this.#options.clock.monotonic())) return delivery
      this.#drop(delivery)
    }
  }

  #start(delivery: Delivery): void {
    const { chain, clock, metrics } = this.#options
    this.#running.add(delivery)
    const limitMs = chain.routeOf(delivery)?.options.timeoutMs ?? this.#options.listenerTimeoutMs
    this.#timeLimits.start(delivery, limitMs)

    const startedAt = clock.monotonic()
    void chain.process(delivery).then((outcome) => {
      this.#timeLimits.stop(delivery, limitMs)
      this.#graceLimits.stop(delivery, this.#options.timeoutGraceMs)
      metrics.recordListenerDurationMs(clock.monotonic() - startedAt)
      this.#finish(delivery, outcome)
    })
  }

  #finish(delivery: Delivery, outcome: Outcome): void {
    if (!this.#running.delete(delivery)) return // given up before
    this.#options.settler.add(delivery, outcome)
    this.#pump()
  }

  #tellToStop(delivery: Delivery): void {
    const { eventId, eventType } = delivery.row
    delivery.abort(
      new OutboxError(
        'OUTBOX_LISTENER_TIMEOUT',
        `The listener took too long for event ${eventId} (${eventType}).`,
      ),
    )
    this.#graceLimits.start(delivery, this.#options.timeoutGraceMs)
  }

  // The slot stays occupied until here, so that hanging listeners cannot pile up without bound.
  async #abandon(delivery: Delivery): Promise<void> {
    const { logger, chain } = this.#options
    logger.warn(
      `The listener for event ${delivery.row.eventId} (${delivery.row.eventType}) ignored its abort signal and was given up. It may still be running.`,
    )
    this.#finish(delivery, await chain.timedOut(delivery))
  }

  async #runAlone(suspect: Delivery): Promise<void> {
    const { settler, logger, beforeSuspect } = this.#options
    this.#suspect = suspect
    logger.warn(
      `Event ${suspect.row.eventId} (${suspect.row.eventType}) was in hand when its process ended ${suspect.row.losses} times in a row: it runs alone now.`,
    )
    try {
      await this.handBackQueued()
      await this.#until(() => this.#running.size === 0)
      await settler.drained()
      await beforeSuspect()
    } catch (error) {
      logger.error(`Clearing the way for event ${suspect.row.eventId} failed. ${describeError(error)}`)
    }
    if (this.#intakeOpen && suspect.isHeld(this.#options.clock.monotonic())) {
      this.#start(suspect)
    } else {
      await this.#handBack([suspect])
      this.#suspect = undefined
      this.#options.onRoom()
      this.#wakeWaiters()
    }
  }

  #drop(delivery: Delivery): void {
    this.#options.inFlight.release(delivery)
    this.#options.onRoom()
  }

  async #handBack(deliveries: readonly Delivery[]): Promise<void> {
    for (const delivery of deliveries) this.#options.inFlight.release(delivery)
    await this.#release(deliveries.filter((delivery) => delivery.lock === undefined))
  }

  // A suspect keeps its count: being let go of unrun proves nothing about it.
  async #release(deliveries: readonly Delivery[]): Promise<void> {
    if (deliveries.length === 0) return
    try {
      await this.#options.store.release(
        deliveries.map(({ held, row }) => ({
          ...held,
          losses: row.losses >= suspectLosses ? row.losses : 0,
        })),
      )
    } catch (error) {
      this.#options.logger.warn(
        `Handing back ${deliveries.length} events failed; they are free when their leases have run out. ${describeError(error)}`,
      )
    }
  }

  get #idle(): boolean {
    return this.#running.size === 0 && this.queuedCount === 0 && this.#suspect === undefined
  }

  async #idleWithin(timeoutMs: number): Promise<void> {
    if (this.#idle) return
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.schedule(timeoutMs, resolve, 'keepAlive')
      void this.#until(() => this.#idle).then(() => {
        cancel()
        resolve()
      })
    })
  }

  async #until(ready: () => boolean): Promise<void> {
    if (!ready()) await new Promise<void>((resolve) => this.#waiters.push({ ready, resolve }))
  }

  #wakeWaiters(): void {
    if (this.#waiters.length === 0) return
    const due = this.#waiters.filter(({ ready }) => ready())
    this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter))
    due.forEach(({ resolve }) => resolve())
  }
}

/** How long listeners have for reacting to the signal at the end of a shutdown. */
const abortGraceMs = 1_000
