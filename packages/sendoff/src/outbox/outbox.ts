import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, systemClock } from '../clock.ts'
import { didYouMean } from '../closest-name.ts'
import { BlockedKeyManager } from '../dead/blocked-key-manager.ts'
import { DeadEventManager } from '../dead/dead-event-manager.ts'
import { describeError } from '../describe-error.ts'
import { coldOnly } from '../wake/poller-wake-ups.ts'
import { Pauses } from '../hold/pauses.ts'
import { StoreRecovery } from '../store-calls/store-recovery.ts'
import { OutboxError } from '../errors.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventFields } from '../event/event-fields.ts'
import type { DefinedEvent, EventToWrite, PlainEventType } from '../event/event-type.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { type Logger, loggerFrom } from '../observe/logger.ts'
import { type CircuitBreakerState, metricsFrom } from '../observe/metrics.ts'
import { usualLockTimes } from '../modes/lock-times.ts'
import { modes } from '../modes/modes.ts'
import { OutboxEngine } from './outbox-engine.ts'
import { operatorCalls, storeFailure } from './outbox-operator-calls.ts'
import {
  checkOutboxOptions,
  type OrderedOptions,
  type OutboxMode,
  type OutboxOptions,
  type PartitionedOptions,
  type SingleWriterOptions,
  type WriterOnlyOptions,
  defaultLeaseMs,
} from './outbox-options.ts'
import { Announcer } from '../wake/announcer.ts'
import { answeringInTime, answerTimes } from '../store-calls/answering-in-time.ts'
import { NodeKeeper } from '../hold/node-keeper.ts'
import { StoreUpkeep } from '../store-calls/store-upkeep.ts'
import { OutboxPurgeScheduler } from '../purge/outbox-purge-scheduler.ts'
import type { OutboxStore, PauseTarget } from '../store/index.ts'
import type { TransactionOptions, Transactions } from '../transactions.ts'
import { AmbientTransactions } from '../write/ambient-transactions.ts'
import type { EventWriter } from '../write/event-writer.ts'
import type { WriteOrder } from '../write/key-locks.ts'
import { OutboxWriter, type WriteOptions } from '../write/outbox-writer.ts'
import type { TxContext } from '../write/tx-context.ts'

/** What closing may take beyond its time limits. */
const closingMarginMs = 2_000

/**
 * An outbox whose transactions are those of its store, or of the option `transactions`. Without this, a place that expects
 * another transaction would decide about `Tx`, and code of an ORM would get the transaction of a store.
 */
type Inferred<Tx, StoreTx, TxOptions> = Outbox<NoInfer<Tx>, NoInfer<StoreTx>, NoInfer<TxOptions>>

type State = 'new' | 'started' | 'closing' | 'closed'

/**
 * A transactional outbox: writes events in the transaction of the data they are about, and
 * delivers every committed one at least once.
 *
 * This is where the parts are put together; what each of them does is told in its own file.
 */
export class Outbox<Tx, StoreTx = Tx, TxOptions = TransactionOptions> implements EventWriter<Tx, TxOptions> {
  readonly writer: OutboxWriter<Tx, StoreTx>
  /** Finds events that were given up, and replays them. */
  readonly deadEvents: DeadEventManager
  readonly #blockedKeys: BlockedKeyManager | undefined
  readonly #options: Partial<OutboxOptions<Tx, StoreTx, TxOptions>>
  readonly #store: OutboxStore<StoreTx>
  /** The store, with a time limit on what is asked of it. */
  readonly #limited: OutboxStore<StoreTx>
  readonly #clock: Clock
  readonly #transactions: AmbientTransactions<Tx, StoreTx, TxOptions>
  readonly #logger: Logger
  readonly #announcer: Announcer
  readonly #pauses: Pauses
  readonly #engine: OutboxEngine | undefined
  readonly #nodeKeeper: NodeKeeper
  readonly #purge: OutboxPurgeScheduler | undefined
  readonly #upkeep: StoreUpkeep | undefined
  #writeOrder: WriteOrder
  #state: State = 'new'
  #isBarred = false
  #closed: Promise<void> | undefined

  private constructor(
    mode: OutboxMode,
    options: WriterOnlyOptions<Tx, StoreTx, TxOptions> & Partial<OutboxOptions<Tx, StoreTx, TxOptions>>,
  ) {
    checkOutboxOptions(mode, options)
    const { store, clock = systemClock, codec = JsonCodec.getDefault(), leaseMs = defaultLeaseMs } = options
    const logger = loggerFrom(options.logger)
    const lease = { owner: uniqueOwner(options.ownerId), ms: leaseMs }
    const delivering = mode === 'writerOnly' ? undefined : modes[mode]
    const lockTimes =
      delivering?.lockTimes(leaseMs, options as OutboxOptions<never, never>) ?? usualLockTimes(leaseMs)
    const times = answerTimes(leaseMs, lockTimes.ttlMs, lockTimes.renewMarginMs)
    const recovery = new StoreRecovery(clock)
    const limited = answeringInTime(store, clock, times, () => recovery.answered())
    this.#options = options
    this.#store = store
    this.#limited = limited
    this.#clock = clock
    this.#logger = logger
    const requireOpen = (what: string) => {
      if (this.#state === 'closed') throw this.#stateError(what)
    }
    this.#pauses = new Pauses(operatorCalls(limited.controls, ['pause', 'resume', 'paused'], requireOpen))
    const announcer = new Announcer({ wakeUps: limited.wakeUps, clock, logger, recovery })
    this.#announcer = announcer
    const metrics = metricsFrom(options.metrics, logger)
    const announce = (partitions?: readonly number[], inMs?: number) => announcer.announce(partitions, inMs)
    this.#engine =
      delivering === undefined
        ? undefined
        : new OutboxEngine(delivering, options as OutboxOptions<never, never>, {
            store: limited as OutboxStore<never>,
            membership: {
              isMember: () => this.#nodeKeeper.isMember,
              staysMember: () => this.#nodeKeeper.staysMember(),
            },
            announcer,
            clock,
            codec,
            lease,
            logger,
            metrics,
            pauses: this.#pauses,
            recovery,
          })
    this.#transactions = new AmbientTransactions({
      store,
      logger,
      transactions: options.transactions as Transactions<Tx, StoreTx, TxOptions> | undefined,
    })
    this.writer = new OutboxWriter({
      store,
      txContext: this.#transactions,
      codec,
      clock,
      logger,
      ...(options.writerHook === undefined ? {} : { writerHook: options.writerHook }),
      writeOrder: () => this.#writeOrder,
      // A process that only writes tells others, where the store can.
      hotPath:
        this.#engine?.hotPath ??
        (store.wakeUps && coldOnly({ clock, logger, metrics, waker: { wake() {}, announce } })),
    })
    this.#writeOrder = writeOrderOf(mode)
    const changed = () => {
      this.#engine?.wake()
      announce()
    }
    this.deadEvents = new DeadEventManager({
      store: operatorCalls(store, ['attempts', 'count', 'query', 'replay'], requireOpen),
      logger,
      onReplayed: changed,
    })
    this.#blockedKeys =
      store.orderingKeys &&
      new BlockedKeyManager({
        keys: operatorCalls(store.orderingKeys, ['blocked', 'retry', 'skip', 'park', 'unpark'], requireOpen),
        onChanged: changed,
      })

    const purge = options.purge === true ? {} : options.purge
    this.#purge =
      purge &&
      new OutboxPurgeScheduler({
        ...purge,
        store: limited,
        mayPurge: () => this.#nodeKeeper.isMember,
        clock,
        logger,
        recovery,
      })
    const upkeep = limited.upkeep?.bind(limited)
    this.#upkeep = upkeep && new StoreUpkeep({ upkeep, clock, logger, recovery })
    this.#nodeKeeper = new NodeKeeper({
      nodes: limited.nodes,
      id: lease.owner,
      // A process that only writes goes with every mode, unless it removes what others still have to deliver.
      mode: mode === 'writerOnly' ? (purge && 'ageMs' in purge ? 'writerOnly' : null) : mode,
      intervalMs: leaseMs * 0.8,
      clock,
      logger,
      recovery,
      onHeartbeat: ({ paused, mode: lastMode }) => {
        this.#pauses.update(paused)
        // Writers go with the mode of those who deliver.
        this.#writeOrder = writeOrderOf(mode === 'writerOnly' ? lastMode : mode)
        this.#setBarred(false)
      },
      onConflict: ({ mode: tableMode }) => {
        this.#writeOrder = writeOrderOf(tableMode)
        this.#setBarred(true)
      },
    })
  }

  /** For one process at a time: the cold path reads without claims, under a lock. */
  static singleNode<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: OutboxOptions<Tx, StoreTx, TxOptions>,
  ): Inferred<Tx, StoreTx, TxOptions> {
    return new Outbox('singleNode', options)
  }

  /** For many processes at once: each leases the events it delivers. */
  static multiNode<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: OutboxOptions<Tx, StoreTx, TxOptions>,
  ): Inferred<Tx, StoreTx, TxOptions> {
    return new Outbox('multiNode', options)
  }

  /**
   * For a relay of which one process at a time delivers, whoever takes the lock of a tick first, while each sends its own
   * events right after their commits, through a circuit breaker.
   */
  static singleWriter<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: SingleWriterOptions<Tx, StoreTx, TxOptions>,
  ): Inferred<Tx, StoreTx, TxOptions> {
    return new Outbox('singleWriter', options)
  }

  /**
   * For delivery in the order of writing: one worker in all processes, under a lock, which begins nothing before the event
   * before it is settled. A failed event is DEAD after one attempt unless told otherwise.
   */
  static ordered<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: OrderedOptions<Tx, StoreTx, TxOptions>,
  ): Inferred<Tx, StoreTx, TxOptions> {
    return new Outbox('ordered', options)
  }

  /**
   * For delivery in the order of writing for each ordering key, by many processes at once: they share the keys, and each key's
   * events are delivered one by one, also where some fail and are retried. Other keys go on meanwhile.
   */
  static partitioned<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: PartitionedOptions<Tx, StoreTx, TxOptions>,
  ): Inferred<Tx, StoreTx, TxOptions> {
    return new Outbox('partitioned', options)
  }

  /** For processes that only write: other processes, or a change-data-capture reader, deliver. */
  static writerOnly<StoreTx, Tx = StoreTx, TxOptions = TransactionOptions>(
    options: WriterOnlyOptions<Tx, StoreTx, TxOptions>,
  ): Inferred<Tx, StoreTx, TxOptions> {
    return new Outbox('writerOnly', options)
  }

  /** Finds ordering keys that are blocked, and decides about them. */
  get blockedKeys(): BlockedKeyManager {
    if (this.#blockedKeys !== undefined) return this.#blockedKeys
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'The store of this outbox does not keep events in order by key.',
    )
  }

  /** Whether events are sent right after their commits; undefined without a circuit breaker. */
  get circuitBreakerState(): CircuitBreakerState | undefined {
    return this.#engine?.breaker?.state
  }

  /** The transaction the running code is part of, for callbacks after its commit or rollback. */
  get txContext(): TxContext<StoreTx> {
    return this.#transactions
  }

  /**
   * Brings the schema up to date, or only checks it with `migrate: false`, and begins to deliver. Rejects with
   * `OUTBOX_STORE_SILENT` where the database does not answer.
   */
  async start(): Promise<this> {
    if (this.#state !== 'new') throw this.#stateError('start')
    this.#state = 'started'
    try {
      // A migration may take long. Whether the database answers at all is known before.
      await this.#startStep('asking the database for a sign of life', () => this.#limited.ping?.())
      await (this.#options.migrate === false
        ? this.#startStep('checking the schema', () => this.#limited.checkSchema())
        : this.#startStep('bringing the schema up to date', () => this.#store.migrate()))
      const warnings = await this.#startStep('asking for settings of the database', () =>
        this.#limited.doctor?.(),
      )
      for (const warning of warnings ?? []) this.#logger.warn(warning)
      await this.#startStep('registering this process', () => this.#nodeKeeper.join())
    } catch (error) {
      if (this.#state === 'started') this.#state = 'new'
      throw error
    }
    // Closed in the meantime.
    this.#requireStarted('start')
    this.#engine?.start()
    this.#purge?.start()
    this.#upkeep?.start()
    return this
  }

  async #startStep<Result>(
    what: string,
    step: () => Promise<Result> | undefined,
  ): Promise<Result | undefined> {
    try {
      return await step()
    } catch (error) {
      throw storeFailure(
        `The outbox could not start, because ${what} failed`,
        error,
        'Check that the database is up, that its address and password are right, and that its user has the rights that the page on the store lists; then start again.',
      )
    }
  }

  /**
   * Runs `work` in one transaction; what it writes to the outbox is part of it. Inside another
   * transaction of this outbox it is a part of that one, which can fail alone. `options` are those of
   * the ORM or driver that runs it, such as an isolation level.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TxOptions): Promise<Result> {
    if (!this.#isOpen) return Promise.reject(this.#stateError('transaction'))
    return this.#transactions.transaction(work, options)
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
  write(first: never, second?: unknown, third?: EventFields & WriteOptions<Tx>): Promise<string | null> {
    if (!this.#isWritable) return Promise.reject(this.#stateError('write'))
    return this.writer.write(first, second, third)
  }

  /** Writes events in one statement. Answers their ids in order, or nothing if a hook suppressed them. */
  writeAll(events: readonly (EventEnvelope | EventToWrite)[], options?: WriteOptions<Tx>): Promise<string[]> {
    if (!this.#isWritable) return Promise.reject(this.#stateError('writeAll'))
    return this.writer.writeAll(events, options)
  }

  /** Looks for due events now, and resolves when they are in the queue. */
  async poll(): Promise<void> {
    this.#requireStarted('poll')
    await this.#requireEngine('poll').poller.poll()
  }

  /** Has the poller look for due events, now or after some milliseconds, and does not wait for it. */
  wake(inMs = 0): void {
    if (this.#state === 'started') this.#engine?.poller.wake(inMs)
  }

  /** Resolves when nothing that is due is left here: not in the table, in a queue, or in a listener's hands. */
  async drain(): Promise<void> {
    this.#requireStarted('drain')
    const engine = this.#requireEngine('drain')
    do {
      await engine.poller.poll()
      const found = engine.dispatcher.inFlight.size > 0
      await engine.idle()
      if (!found) return
    } while (this.#state === 'started')
  }

  /** Stops delivering events of a type, or for a destination, on every node. They stay where they are. */
  async pause(target: PauseTarget): Promise<void> {
    this.#requireStarted('pause')
    await this.#pauses.pause(target)
    this.#announcer.announceControls()
    this.#warnOfUnknown(target)
  }

  async resume(target: PauseTarget): Promise<void> {
    this.#requireStarted('resume')
    await this.#pauses.resume(target)
    this.#engine?.wake()
    this.#announcer.announceControls()
  }

  paused(): Promise<readonly PauseTarget[]> {
    return this.#pauses.paused()
  }

  // Another process may have the listener, so the pause holds; but the name may be misspelt.
  #warnOfUnknown(target: PauseTarget): void {
    const types = this.#options.listeners?.eventTypes
    if (!('eventType' in target) || types === undefined || types.includes(target.eventType)) return
    this.#logger.warn(
      `Event type "${target.eventType}" is paused, but no listener of this process is registered for it.` +
        didYouMean(target.eventType, types),
    )
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

  /** While others use the table in another mode, this process takes nothing. */
  #setBarred(isBarred: boolean): void {
    if (isBarred === this.#isBarred) return
    this.#isBarred = isBarred
    if (isBarred) void this.#engine?.bar()
    else this.#engine?.unbar()
  }

  async #close(): Promise<void> {
    const started = this.#state === 'started'
    this.#state = 'closing'
    const { drainTimeoutMs = 5_000, shutdownTimeoutMs = 15_000 } = this.#options
    const engineMs = 2 * drainTimeoutMs + shutdownTimeoutMs + closingMarginMs
    if (started) {
      await this.#attempt('Waiting for open transactions', drainTimeoutMs, () => this.#transactions.ended())
      await this.#attempt('Stopping the purge', drainTimeoutMs, () => this.#purge?.close())
      await this.#attempt('Stopping the upkeep', drainTimeoutMs, () => this.#upkeep?.close())
      await this.#attempt('Stopping the engine', engineMs, () => this.#engine?.close())
      this.#engine?.abandon()
      await this.#attempt('Signing off', drainTimeoutMs, () => this.#nodeKeeper.leave())
    }
    await this.#attempt('Closing the store', drainTimeoutMs, () => this.#store.close())
    this.#state = 'closed'
  }

  // A database that does not answer must not keep a process from ending.
  async #attempt(what: string, timeoutMs: number, work: () => Promise<void> | undefined): Promise<void> {
    const tooLate = Promise.withResolvers<void>()
    const cancel = this.#clock.schedule(
      timeoutMs + closingMarginMs,
      () => tooLate.reject(new Error('The database did not answer in time.')),
      'keepAlive',
    )
    try {
      await Promise.race([work(), tooLate.promise])
    } catch (error) {
      this.#logger.warn(`${what} failed. ${describeError(error)}`)
    } finally {
      cancel()
    }
  }

  #requireEngine(what: string): OutboxEngine {
    if (this.#engine !== undefined) return this.#engine
    throw new OutboxError('OUTBOX_INVALID_OPTION', `An outbox that only writes has no ${what}().`)
  }

  // What was open when closing began may still be completed, transactions within it included.
  get #isOpen(): boolean {
    return (
      this.#state === 'started' || (this.#state === 'closing' && this.#transactions.isTransactionActive())
    )
  }

  get #isWritable(): boolean {
    return this.#state === 'started' || (this.#state === 'closing' && this.#transactions.openCount > 0)
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

/** What writers lock for the order that a mode keeps. */
function writeOrderOf(mode: string | null): WriteOrder {
  return mode === 'partitioned' ? 'key' : mode === 'ordered' ? 'all' : 'none'
}

function uniqueOwner(name: string = `${hostname().slice(0, 80)}-${process.pid}`): string {
  return `${name}-${randomBytes(4).toString('hex')}`
}
