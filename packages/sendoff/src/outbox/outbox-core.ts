import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, systemClock } from '../clock.ts'
import { BlockedKeyManager } from '../dead/blocked-key-manager.ts'
import { DeadEventManager } from '../dead/dead-event-manager.ts'
import { closeDefaults } from '../dispatch/dispatcher-options.ts'
import { describeError } from '../describe-error.ts'
import { coldOnly } from '../wake/poller-wake-ups.ts'
import { Pauses } from '../hold/pauses.ts'
import { StoreRecovery } from '../store-calls/store-recovery.ts'
import { OutboxError } from '../errors.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { type Logger, loggerFrom } from '../observe/logger.ts'
import { metricsFrom } from '../observe/metrics.ts'
import { usualLockTimes } from '../modes/lock-times.ts'
import { modes } from '../modes/modes.ts'
import { cancelEvent, type CancelOptions, type CancelTarget } from './cancel-event.ts'
import { type EngineOptions, OutboxEngine } from './outbox-engine.ts'
import { operatorCalls, storeFailure } from './outbox-operator-calls.ts'
import {
  checkOutboxOptions,
  type OutboxMode,
  type OutboxOptions,
  type WriterOnlyOptions,
  outboxDefaults,
} from './outbox-options.ts'
import { Announcer } from '../wake/announcer.ts'
import { answeringInTime, answerTimes } from '../store-calls/answering-in-time.ts'
import { NodeKeeper } from '../hold/node-keeper.ts'
import { ProcessReporter } from '../hold/process-reporter.ts'
import { StoreUpkeep } from '../store-calls/store-upkeep.ts'
import { upkeepOf } from '../store-calls/upkeep-of.ts'
import { OutboxPurgeScheduler } from '../purge/outbox-purge-scheduler.ts'
import { ListenerRegistry } from '../route/listener-registry.ts'
import { type CancelAnswer, type OutboxStore, requireParts } from '../store/index.ts'
import type { Transactions } from '../transactions.ts'
import { AmbientTransactions } from '../write/ambient-transactions.ts'
import type { WriteOrder } from '../write/key-locks.ts'
import { sendoffVersion } from '../version.ts'
import { OutboxWriter } from '../write/outbox-writer.ts'
import type { MaybeHook, WriterHook } from '../write/writer-hook.ts'

/** How many milliseconds longer than its time limits closing may take. */
const closingMarginMs = 2_000

type State = 'new' | 'started' | 'closing' | 'closed'

/** The options of all modes together. Those that only some modes have are optional. */
type CoreOptions<Tx, StoreTx, TxOptions> = WriterOnlyOptions<Tx, StoreTx, TxOptions, MaybeHook> &
  Partial<OutboxOptions<Tx, StoreTx, TxOptions, MaybeHook>>

/**
 * Builds the parts of an outbox for its mode, and runs them from start to close. Each part is explained in
 * its own file.
 */
export class OutboxCore<Tx, StoreTx, TxOptions, Id extends string | null> {
  readonly writer: OutboxWriter<Tx, StoreTx, Id>
  /** Finds and replays DEAD events. */
  readonly deadEvents: DeadEventManager
  readonly #blockedKeys: BlockedKeyManager | undefined
  /** The registry of the option `listeners`; otherwise a registry of this outbox. */
  readonly listeners: ListenerRegistry
  readonly transactions: AmbientTransactions<Tx, StoreTx, TxOptions>
  readonly logger: Logger
  readonly announcer: Announcer
  readonly pauses: Pauses
  /** The parts that deliver; undefined in `writerOnly`. */
  readonly engine: OutboxEngine | undefined
  /** The name of this process, unique per start. */
  readonly owner: string
  readonly #options: CoreOptions<Tx, StoreTx, TxOptions>
  readonly #store: OutboxStore<StoreTx>
  /** The store with a time limit on its calls. */
  readonly #limited: OutboxStore<StoreTx>
  readonly #clock: Clock
  readonly #nodeKeeper: NodeKeeper
  readonly #purge: OutboxPurgeScheduler | undefined
  readonly #upkeep: StoreUpkeep | undefined
  readonly #reporter: ProcessReporter | undefined
  #writeOrder: WriteOrder
  #state: State = 'new'
  #isBarred = false
  #closed: Promise<void> | undefined

  constructor(mode: OutboxMode, options: CoreOptions<Tx, StoreTx, TxOptions>) {
    checkOutboxOptions(mode, options)
    const {
      store,
      clock = systemClock,
      codec = JsonCodec.getDefault(),
      leaseMs = outboxDefaults.leaseMs,
    } = options
    const logger = loggerFrom(options.logger)
    const lease = { owner: uniqueOwner(options.ownerId, options.random), ms: leaseMs }
    this.listeners = options.listeners ?? new ListenerRegistry()
    const engineOptions = { ...options, listeners: this.listeners } as object as EngineOptions
    const delivering = mode === 'writerOnly' ? undefined : modes[mode]
    const lockTimes = delivering?.lockTimes(leaseMs, engineOptions) ?? usualLockTimes(leaseMs)
    const times = answerTimes(leaseMs, lockTimes.ttlMs, lockTimes.renewMarginMs)
    const recovery = new StoreRecovery(clock)
    const limited = answeringInTime(store, clock, times, () => recovery.answered())
    this.#options = options
    this.owner = lease.owner
    this.#store = store
    this.#limited = limited
    this.#clock = clock
    this.logger = logger
    const requireOpen = (what: string) => {
      if (this.#state === 'closed') throw this.stateError(what)
    }
    this.pauses = new Pauses(
      limited.controls && operatorCalls(limited.controls, ['pause', 'resume', 'paused'], requireOpen),
      lease.owner,
    )
    const announcer = new Announcer({ wakeUps: limited.wakeUps, clock, logger, recovery })
    this.announcer = announcer
    const metrics = metricsFrom(options.metrics, logger)
    const startedAt = clock.now()
    // A report that succeeds says nothing about calls that deliveries need.
    const { reports } = answeringInTime(store, clock, times)
    this.#reporter =
      reports &&
      new ProcessReporter({
        reports,
        id: lease.owner,
        clock,
        logger,
        describe: () => ({
          version: sendoffVersion,
          host: hostname(),
          pid: process.pid,
          startedAt,
          types: this.engine === undefined ? [] : (this.listeners.eventTypes ?? null),
          ...(this.engine?.state ?? nothingHeld),
        }),
      })
    const announce = (partitions?: readonly number[], inMs?: number) => announcer.announce(partitions, inMs)
    this.engine =
      delivering === undefined
        ? undefined
        : new OutboxEngine(delivering, engineOptions, {
            store: limited as OutboxStore<never>,
            membership: {
              isMember: () => this.#nodeKeeper.isMember,
              staysMember: () => this.#nodeKeeper.staysMember(),
            },
            announcer,
            ...(this.#reporter && { counts: this.#reporter.counts }),
            clock,
            codec,
            lease,
            logger,
            metrics,
            pauses: this.pauses,
            recovery,
          })
    this.transactions = new AmbientTransactions({
      store,
      logger,
      transactions: options.transactions as Transactions<Tx, StoreTx, TxOptions> | undefined,
    })
    this.writer = new OutboxWriter({
      store,
      txContext: this.transactions,
      codec,
      clock,
      logger,
      writerHook: options.writerHook as WriterHook | undefined,
      writeOrder: () => this.#writeOrder,
      // A process that only writes still wakes other processes, if the store has wake-ups.
      hotPath:
        this.engine?.hotPath ??
        (store.wakeUps && coldOnly({ clock, logger, metrics, waker: { wake() {}, announce } })),
    })
    this.#writeOrder = writeOrderOf(mode)
    const changed = () => {
      this.engine?.wake()
      announce()
    }
    this.deadEvents = new DeadEventManager({
      store: {
        people: store.people && operatorCalls(store.people, ['attempts', 'count', 'query'], requireOpen),
        actions: store.actions && operatorCalls(store.actions, ['record', 'run'], requireOpen),
      },
      actor: lease.owner,
      logger,
      clock,
      onReplayed: changed,
    })
    this.#blockedKeys =
      store.orderingKeys &&
      new BlockedKeyManager({
        keys: operatorCalls(store.orderingKeys, ['blocked', 'retry', 'skip', 'park', 'unpark'], requireOpen),
        actor: lease.owner,
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
    const upkeep = upkeepOf(limited.upkeep?.bind(limited), reports)
    this.#upkeep = upkeep && new StoreUpkeep({ upkeep, clock, logger, recovery })
    this.#nodeKeeper = new NodeKeeper({
      nodes: limited.nodes,
      id: lease.owner,
      // A process that only writes fits every mode, unless its purge deletes pending rows of other processes.
      mode: mode === 'writerOnly' ? (purge && 'ageMs' in purge ? 'writerOnly' : null) : mode,
      intervalMs: leaseMs * 0.8,
      clock,
      logger,
      recovery,
      onHeartbeat: ({ paused, mode: lastMode }) => {
        this.pauses.update(paused)
        // A process that only writes locks keys as the delivering processes' mode demands.
        this.#writeOrder = writeOrderOf(mode === 'writerOnly' ? lastMode : mode)
        this.#setBarred(false)
        this.#reporter?.heartbeat()
      },
      onConflict: ({ mode: tableMode }) => {
        this.#writeOrder = writeOrderOf(tableMode)
        this.#setBarred(true)
      },
    })
  }

  /** Cancels a pending event that no worker holds. */
  async cancel(target: CancelTarget, options?: CancelOptions<Tx>): Promise<CancelAnswer> {
    if (!this.isWritable) throw this.stateError('cancel')
    try {
      const parts = { store: this.#store, transactions: this.transactions, actor: this.owner }
      return await cancelEvent(parts, target, options)
    } catch (error) {
      throw storeFailure('cancel() of the store failed', error, 'Try again when the database responds.')
    }
  }

  /** Finds blocked ordering keys, and unblocks them. */
  get blockedKeys(): BlockedKeyManager {
    requireParts(this.#store, ['orderingKeys'], 'outbox.blockedKeys')
    return this.#blockedKeys!
  }

  /**
   * Brings the schema up to date, or only checks it with `migrate: false`. Then begins to deliver. Rejects
   * with `OUTBOX_STORE_SILENT` if the database does not answer.
   */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw this.stateError('start')
    this.#state = 'started'
    try {
      // A migration may take long, so we first check that the database answers at all.
      await this.#startStep('asking the database for a sign of life', () => this.#limited.ping?.())
      const { migrate = outboxDefaults.migrate } = this.#options
      await (migrate
        ? this.#startStep('bringing the schema up to date', () => this.#store.migrate())
        : this.#startStep('checking the schema', () => this.#limited.checkSchema()))
      const warnings = await this.#startStep('asking for settings of the database', () =>
        this.#limited.doctor?.(),
      )
      for (const warning of warnings ?? []) this.logger.warn(warning)
      await this.#startStep('registering this process', () => this.#nodeKeeper.join())
    } catch (error) {
      if (this.#state === 'started') this.#state = 'new'
      throw error
    }
    // The outbox may have been closed during the awaits above.
    this.requireStarted('start')
    this.engine?.start()
    this.#purge?.start()
    this.#upkeep?.start()
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
   * Stops taking events, lets queued and running work end within its time limits, and hands the rest back at
   * once. Then closes the store. Never rejects because of a failing database.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /**
   * Bars or unbars the engine. While other processes use the table in another mode, this process takes no
   * rows.
   */
  #setBarred(isBarred: boolean): void {
    if (isBarred === this.#isBarred) return
    this.#isBarred = isBarred
    if (isBarred) void this.engine?.bar()
    else this.engine?.unbar()
  }

  async #close(): Promise<void> {
    const started = this.#state === 'started'
    this.#state = 'closing'
    const {
      drainTimeoutMs = closeDefaults.drainTimeoutMs,
      shutdownTimeoutMs = closeDefaults.shutdownTimeoutMs,
    } = this.#options
    const engineMs = 2 * drainTimeoutMs + shutdownTimeoutMs + closingMarginMs
    if (started) {
      await this.#attempt('Waiting for open transactions', drainTimeoutMs, () => this.transactions.ended())
      await this.#attempt('Stopping the purge', drainTimeoutMs, () => this.#purge?.close())
      await this.#attempt('Stopping the upkeep', drainTimeoutMs, () => this.#upkeep?.close())
      await this.#attempt('Stopping the engine', engineMs, () => this.engine?.close())
      this.engine?.abandon()
      await this.#attempt('Reporting for the last time', drainTimeoutMs, () => this.#reporter?.close())
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
      this.logger.warn(`${what} failed. ${describeError(error)}`)
    } finally {
      cancel()
    }
  }

  get isStarted(): boolean {
    return this.#state === 'started'
  }

  /**
   * Whether a transaction may begin. Transactions that were open when closing began may still begin parts,
   * and complete.
   */
  get isOpen(): boolean {
    return this.#state === 'started' || (this.#state === 'closing' && this.transactions.isTransactionActive())
  }

  /** Whether an event may be written. */
  get isWritable(): boolean {
    return this.#state === 'started' || (this.#state === 'closing' && this.transactions.openCount > 0)
  }

  /** Throws unless the outbox is started. */
  requireStarted(what: string): void {
    if (this.#state !== 'started') throw this.stateError(what)
  }

  /** The error for a call that does not fit the state of the outbox. */
  stateError(what: string): OutboxError {
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

const nothingHeld = { queues: { hot: 0, cold: 0 }, held: { leased: 0, locked: 0 }, partitions: 0 }

/** The locks that writers take for the order that a mode keeps. */
function writeOrderOf(mode: string | null): WriteOrder {
  return mode === 'partitioned' ? 'key' : mode === 'ordered' ? 'all' : 'none'
}

function uniqueOwner(
  name: string = `${hostname().slice(0, 80)}-${process.pid}`,
  random: () => number = () => randomBytes(4).readUInt32BE() / 2 ** 32,
): string {
  const suffix = Math.floor(random() * 2 ** 32).toString(16)
  return `${name}-${suffix.padStart(8, '0')}`
}
