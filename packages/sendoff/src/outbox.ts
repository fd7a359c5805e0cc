import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, systemClock } from './clock.ts'
import { describeError } from './describe-error.ts'
import { DispatcherHotPath } from './dispatch/dispatcher-hot-path.ts'
import type { Delivery, Holding } from './dispatch/delivery.ts'
import { InFlightTracker } from './dispatch/in-flight-tracker.ts'
import { OutboxDispatcher } from './dispatch/outbox-dispatcher.ts'
import { Settler } from './dispatch/settler.ts'
import { OutboxError } from './errors.ts'
import type { EventEnvelope } from './event/event-envelope.ts'
import type { EventFields } from './event/event-fields.ts'
import type { DefinedEvent, EventToWrite, PlainEventType } from './event/event-type.ts'
import { JsonCodec } from './event/json-codec.ts'
import { type Logger, silentLogger, standardLogger } from './observe/logger.ts'
import { type MetricsExporter, noMetrics } from './observe/metrics.ts'
import {
  checkOutboxOptions,
  type OutboxOptions,
  type OutboxSettings,
  withDefaults,
} from './outbox-options.ts'
import { claimSource } from './poll/claim-source.ts'
import { LeaseKeeper } from './poll/lease-keeper.ts'
import { NamedLock } from './poll/named-lock.ts'
import { OutboxPoller } from './poll/outbox-poller.ts'
import { OwnerSource } from './poll/owner-source.ts'
import { ProcessingChain } from './process/processing-chain.ts'
import type { Lease, Outcome, OutboxStore } from './store.ts'
import { AmbientTransactions } from './write/ambient-transactions.ts'
import { OutboxWriter, type WriteOptions } from './write/outbox-writer.ts'
import type { Transactions } from './transactions.ts'
import type { TxContext } from './write/tx-context.ts'

type Mode = 'singleNode' | 'multiNode'
type State = 'new' | 'started' | 'closing' | 'closed'

const lockName = 'outbox-poller'

/**
 * A transactional outbox: writes events in the transaction of the data they are about, and
 * delivers every committed one at least once.
 *
 * This is where the parts are put together; what each of them does is told in its own file.
 */
export class Outbox<Tx, StoreTx = Tx> {
  readonly writer: OutboxWriter<Tx, StoreTx>
  readonly #settings: OutboxSettings
  readonly #store: OutboxStore<StoreTx>
  readonly #transactions: AmbientTransactions<Tx, StoreTx>
  readonly #logger: Logger
  readonly #metrics: MetricsExporter
  readonly #clock: Clock
  readonly #lease: Lease
  readonly #inFlight = new InFlightTracker()
  readonly #settler: Settler
  readonly #dispatcher: OutboxDispatcher
  readonly #leaseKeeper: LeaseKeeper
  readonly #lock: NamedLock | undefined
  readonly #poller: OutboxPoller
  #state: State = 'new'
  #closed: Promise<void> | undefined

  private constructor(mode: Mode, options: OutboxOptions<Tx, StoreTx>) {
    checkOutboxOptions(`Outbox.${mode}`, options)
    const settings = withDefaults(options)
    this.#settings = settings
    this.#store = options.store
    this.#logger = options.logger === false ? silentLogger : (options.logger ?? standardLogger)
    this.#metrics = options.metrics ?? noMetrics
    this.#clock = options.clock ?? systemClock
    this.#lease = { owner: uniqueOwner(options.ownerId), ms: settings.leaseMs }
    const codec = options.codec ?? JsonCodec.getDefault()
    const shared = { store: this.#store, clock: this.#clock, logger: this.#logger, metrics: this.#metrics }

    this.#lock = mode === 'singleNode' ? this.#namedLock() : undefined
    const lock = this.#lock
    this.#settler = new Settler({
      ...shared,
      ...(lock === undefined ? {} : { owner: () => (lock.holding === undefined ? undefined : lock.fence) }),
      onSettled: (delivery, outcome, refused) => this.#onSettled(delivery, outcome, refused),
    })
    const polling = {
      ...shared,
      lease: this.#lease,
      inFlight: this.#inFlight,
      skipRecentMs: settings.poller.skipRecentMs,
    }
    const ownerSource = lock && new OwnerSource({ ...polling, lock })
    this.#dispatcher = new OutboxDispatcher({
      ...shared,
      ...settings,
      chain: new ProcessingChain({ ...settings, listeners: options.listeners, codec }),
      settler: this.#settler,
      inFlight: this.#inFlight,
      timeoutGraceMs: settings.leaseMs,
      beforeSuspect: async () => ownerSource?.recordHeld(),
      onRoom: () => this.#poller.wake(),
    })
    this.#poller = new OutboxPoller({
      ...polling,
      ...settings.poller,
      source: ownerSource ?? claimSource(polling),
      handler: {
        handle: (delivery) => this.#dispatcher.enqueueCold(delivery),
        availableCapacity: () => this.#dispatcher.coldQueueRemainingCapacity(),
      },
    })
    this.#leaseKeeper = new LeaseKeeper({ ...shared, lease: this.#lease, inFlight: this.#inFlight })
    this.#transactions = new AmbientTransactions(
      options.transactions ?? storeTransactions(options.store),
      options.store,
    )
    this.writer = new OutboxWriter({
      ...shared,
      txContext: this.#transactions,
      ...(options.writerHook === undefined ? {} : { writerHook: options.writerHook }),
      codec,
      hotPath: new DispatcherHotPath({
        ...shared,
        dispatcher: this.#dispatcher,
        listeners: options.listeners,
        lease: this.#lease,
        wakePoller: (inMs) => this.#poller.wake(inMs),
      }),
    })
  }

  /** For one process at a time: the cold path reads without claims, under a lock. */
  static singleNode<StoreTx, Tx = StoreTx>(options: OutboxOptions<Tx, StoreTx>): Outbox<Tx, StoreTx> {
    return new Outbox('singleNode', options)
  }

  /** For many processes at once: each leases the events it delivers. */
  static multiNode<StoreTx, Tx = StoreTx>(options: OutboxOptions<Tx, StoreTx>): Outbox<Tx, StoreTx> {
    return new Outbox('multiNode', options)
  }

  /** The transaction the running code is part of, for callbacks after its commit or rollback. */
  get txContext(): TxContext<StoreTx> {
    return this.#transactions
  }

  /** Brings the schema up to date and begins to deliver. */
  async start(): Promise<this> {
    if (this.#state !== 'new') throw this.#stateError('start')
    this.#state = 'started'
    try {
      await this.#store.migrate()
    } catch (error) {
      this.#state = 'new'
      throw error
    }
    this.#leaseKeeper.start()
    if (this.#settings.poller.enabled) this.#poller.start()
    return this
  }

  /**
   * Runs `work` in one transaction; what it writes to the outbox is part of it. Inside another
   * transaction of this outbox it is a part of that one, which can fail alone.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    this.#requireStarted('transaction')
    return this.#transactions.transaction(work)
  }

  /** Writes an event that is in its envelope already. Answers its id, or null if a hook suppressed it. */
  write(event: EventEnvelope | EventToWrite, options?: WriteOptions<Tx>): Promise<string | null>
  /** Writes an event of a type known by name. The payload is any JSON value, or bytes. */
  write(
    type: string | PlainEventType,
    payload: unknown,
    options?: EventFields & WriteOptions<Tx>,
  ): Promise<string | null>
  /** Writes a defined event. */
  write<Input, Output>(
    type: DefinedEvent<Input, Output>,
    payload: Input,
    options?: EventFields & WriteOptions<Tx>,
  ): Promise<string | null>
  async write(
    first: never,
    second?: unknown,
    third?: EventFields & WriteOptions<Tx>,
  ): Promise<string | null> {
    this.#requireStarted('write')
    return this.writer.write(first, second, third)
  }

  /** Writes events in one statement. Answers their ids in order, or nothing if a hook suppressed them. */
  async writeAll(
    events: readonly (EventEnvelope | EventToWrite)[],
    options?: WriteOptions<Tx>,
  ): Promise<string[]> {
    this.#requireStarted('writeAll')
    return this.writer.writeAll(events, options)
  }

  /** Looks for due events now, and resolves when they are in the queue. */
  async poll(): Promise<void> {
    this.#requireStarted('poll')
    await this.#poller.poll()
  }

  /**
   * Stops taking events, lets queued and running work end within its time limits, hands back at
   * once what is not running, and closes the store. Never rejects over a failing database.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const started = this.#state === 'started'
    this.#state = 'closing'
    if (started) {
      const { drainTimeoutMs, shutdownTimeoutMs } = this.#settings
      await this.#poller.close()
      await this.#dispatcher.drain(drainTimeoutMs)
      await this.#dispatcher.handBackQueued()
      await this.#dispatcher.finishRunning(shutdownTimeoutMs)
      await this.#settleWithin(drainTimeoutMs)
      this.#leaseKeeper.stop()
      await this.#attempt('Releasing the lock', () => this.#lock?.release())
    }
    await this.#attempt('Closing the store', () => this.#store.close())
    this.#state = 'closed'
  }

  async #settleWithin(timeoutMs: number): Promise<void> {
    const cancel = this.#clock.schedule(timeoutMs, () => this.#settler.giveUp(), 'keepAlive')
    await this.#settler.drained()
    cancel()
    if (this.#settler.backlog > 0) {
      this.#logger.error(
        `${this.#settler.backlog} delivered events could not be settled and will be delivered again.`,
      )
    }
  }

  async #attempt(what: string, work: () => Promise<void> | undefined): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#logger.warn(`${what} failed. ${describeError(error)}`)
    }
  }

  #namedLock(): NamedLock {
    return new NamedLock({
      locks: this.#store.locks,
      name: lockName,
      token: this.#lease.owner,
      ttlMs: this.#lease.ms,
      clock: this.#clock,
      logger: this.#logger,
      onLost: (holding) => this.#lockLost(holding),
    })
  }

  #lockLost(holding: Holding): void {
    this.#logger.warn(`The lock "${lockName}" was lost: what was read under it is left to its next owner.`)
    for (const delivery of this.#inFlight.values()) if (delivery.lock === holding) delivery.lose()
  }

  #onSettled(delivery: Delivery, outcome: Outcome, refused: boolean): void {
    this.#dispatcher.settled(delivery)
    if (refused) {
      this.#metrics.incrementSettlementRefused()
      this.#logger.warn(
        `The settlement of event ${delivery.row.eventId} came too late and was refused: somebody else holds it and delivers it again.`,
      )
      return
    }
    this.#report(delivery, outcome)
    if ('delayMs' in outcome) this.#poller.wake(outcome.delayMs)
  }

  #report({ row }: Delivery, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'retry':
        return this.#metrics.incrementDispatchFailure()
      case 'defer':
        return this.#metrics.incrementDispatchDeferred()
      case 'dead':
        this.#metrics.incrementDispatchDead()
        return this.#logger.error(`Event ${row.eventId} (${row.eventType}) is DEAD: ${outcome.failure.error}`)
      default:
        return this.#metrics.incrementDispatchSuccess()
    }
  }

  #requireStarted(what: string): void {
    if (this.#state !== 'started') throw this.#stateError(what)
  }

  #stateError(what: string): OutboxError {
    if (this.#state === 'new') {
      return new OutboxError('OUTBOX_NOT_STARTED', `Call await outbox.start() before ${what}().`)
    }
    return this.#state === 'started'
      ? new OutboxError('OUTBOX_INVALID_OPTION', 'The outbox is started already.')
      : new OutboxError(
          'OUTBOX_CLOSED',
          `The outbox is closed, so ${what}() is not possible. Make a new one.`,
        )
  }
}

function storeTransactions<StoreTx, Tx>(store: OutboxStore<StoreTx>): Transactions<Tx, StoreTx> {
  // Without transactions of another kind, the user's are the store's own.
  const own: Transactions<StoreTx, StoreTx> = {
    transaction: (work, within) => store.transaction(work, within),
    storeTx: (tx) => tx,
  }
  return own as unknown as Transactions<Tx, StoreTx>
}

function uniqueOwner(name: string = `${hostname().slice(0, 80)}-${process.pid}`): string {
  return `${name}-${randomBytes(4).toString('hex')}`
}
