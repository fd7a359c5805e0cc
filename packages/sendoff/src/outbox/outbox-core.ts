import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, systemClock } from '../clock.ts'
import { BlockedKeyManager } from '../dead/blocked-key-manager.ts'
import { DeadEventManager } from '../dead/dead-event-manager.ts'
import { closeDefaults } from '../dispatch/dispatcher-options.ts'
import { didYouMean } from '../closest-name.ts'
import { describeError } from '../describe-error.ts'
import { coldOnly } from '../wake/poller-wake-ups.ts'
import { Pauses } from '../hold/pauses.ts'
import { StoreRecovery } from '../store-calls/store-recovery.ts'
import { OutboxError } from '../errors.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { CarriedContext } from '../observe/context-carrier.ts'
import type { OutboxHealth } from '../observe/health.ts'
import { type Logger, loggerFrom } from '../observe/logger.ts'
import { OutboxEvents } from '../observe/outbox-events.ts'
import { RepeatedLines } from '../observe/repeated-lines.ts'
import { tracingFrom } from '../observe/safe-tracing.ts'
import { WriteContext } from '../observe/write-context.ts'
import { pollerDefaults } from '../poll/outbox-poller.ts'
import { DeliverySurroundings } from '../process/delivery-surroundings.ts'
import { healthOf } from './health-of.ts'
import type { MetricsSource, ProcessState, TableState } from '../observe/metrics-source.ts'
import { metricsFrom, observeWith } from '../observe/metrics.ts'
import { usualLockTimes } from '../modes/lock-times.ts'
import { modes } from '../modes/modes.ts'
import { cancelEvent, type CancelOptions, type CancelTarget } from './cancel-event.ts'
import type { Attachment, InboxParts } from './inbox-parts.ts'
import type { EngineOptions } from './outbox-engine.ts'
import { OutboxEngines } from './outbox-engines.ts'
import { operatorCalls, storeFailure } from './outbox-operator-calls.ts'
import {
  checkOutboxOptions,
  type OutboxMode,
  type OutboxOptions,
  type WriterOnlyOptions,
  outboxDefaults,
} from './outbox-options.ts'
import { RoutingState } from './routing-state.ts'
import { Announcer } from '../wake/announcer.ts'
import { answeringInTime, answerTimes } from '../store-calls/answering-in-time.ts'
import { TableLook } from './table-look.ts'
import { NodeKeeper } from '../hold/node-keeper.ts'
import { ProcessReporter } from '../hold/process-reporter.ts'
import { StoreUpkeep } from '../store-calls/store-upkeep.ts'
import { upkeepOf } from '../store-calls/upkeep-of.ts'
import { keyRetentionOf, OutboxPurgeScheduler } from '../purge/outbox-purge-scheduler.ts'
import { ListenerRegistry } from '../route/listener-registry.ts'
import { Routing } from '../route/routing.ts'
import {
  type CancelAnswer,
  type Finding,
  type OutboxStore,
  requireParts,
  usualDoctorRequest,
} from '../store/index.ts'
import { rowsHidden } from '../store/rows-hidden.ts'
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
export class OutboxCore<Tx, StoreTx, TxOptions, Id extends string | null> implements MetricsSource {
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
  /** Tells subscribers about failures and outages. */
  readonly events: OutboxEvents
  /** The parts that deliver; undefined in `writerOnly`. */
  readonly engine: OutboxEngines | undefined
  /** The name of this process, unique per start. */
  readonly owner: string
  /** The parts that an inbox uses. */
  readonly inboxParts: InboxParts<Tx, StoreTx, TxOptions>
  readonly #options: CoreOptions<Tx, StoreTx, TxOptions>
  readonly #store: OutboxStore<StoreTx>
  /** The store with a time limit on its calls. */
  readonly #limited: OutboxStore<StoreTx>
  readonly #clock: Clock
  readonly #nodeKeeper: NodeKeeper
  readonly #recovery: StoreRecovery
  readonly #pluggedIn: RepeatedLines
  readonly #tableLook: TableLook
  #unobserve: (() => void) | undefined
  readonly #purge: OutboxPurgeScheduler | undefined
  readonly #upkeep: StoreUpkeep | undefined
  readonly #reporter: ProcessReporter | undefined
  readonly #attachments: Attachment[] = []
  readonly #routing: Routing | undefined
  readonly #routingState: RoutingState
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
    const pluggedIn = new RepeatedLines(clock, logger, 'failures of what is plugged in')
    this.#pluggedIn = pluggedIn
    const events = new OutboxEvents(clock, pluggedIn)
    this.events = events
    const tracing = tracingFrom(options.tracing, pluggedIn)
    const carried = options.context?.length ? new CarriedContext(options.context, pluggedIn) : undefined
    const isCarrying = tracing !== undefined || carried !== undefined
    const recovery = new StoreRecovery(clock, events)
    this.#recovery = recovery
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
    this.#routing = options.routing && new Routing(options.routing)
    const announcer = new Announcer({ wakeUps: limited.wakeUps, clock, logger, recovery })
    this.announcer = announcer
    this.#routingState = new RoutingState({
      routing: this.#routing,
      store: limited,
      clock,
      logger,
      hasOneDestination: mode === 'ordered',
      onPublished: () => announcer.announceControls(),
    })
    const metrics = metricsFrom(options.metrics, pluggedIn)
    const startedAt = clock.now()
    // A report or a look that succeeds says nothing about calls that deliveries need.
    const { reports, looks } = answeringInTime(store, clock, times)
    this.#tableLook = new TableLook(looks, clock)
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
          ...(this.#routingState.expansion && { routingVersion: this.#routingState.expansion.version }),
        }),
      })
    const announce = (partitions?: readonly number[], inMs?: number) => announcer.announce(partitions, inMs)
    this.engine =
      delivering === undefined
        ? undefined
        : new OutboxEngines({
            mode: delivering,
            options: engineOptions,
            routing: this.#routing,
            isRouted: () => this.#routingState.expansion !== undefined,
            onControls: () => this.#routingState.refresh(),
            parts: {
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
              events,
              tracing,
              surroundings: isCarrying ? new DeliverySurroundings(carried, tracing) : undefined,
              pauses: this.pauses,
              recovery,
            },
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
      metrics,
      writeContext: isCarrying ? new WriteContext(carried, tracing, pluggedIn) : undefined,
      writerHook: options.writerHook as WriterHook | undefined,
      writeOrder: () => this.#writeOrder,
      takeLateSignal: () => announcer.takeLateSignal(),
      destinationsOf: () => this.#routingState.destinationsOf,
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
        metrics,
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
      onHeartbeat: ({ paused, mode: lastMode, routing }) => {
        this.pauses.update(paused)
        this.#routingState.follow(routing ?? null)
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
    this.inboxParts = {
      store,
      limited,
      transactions: this.transactions,
      writer: this.writer as OutboxWriter<Tx, StoreTx, string | null>,
      codec,
      clock,
      random: options.random ?? Math.random,
      logger,
      recovery,
      tracing,
      keyRetentionMs: purge ? keyRetentionOf(purge) : Infinity,
      requireOpen: (what) => {
        if (!this.isOpen) throw this.stateError(what)
      },
      attach: (attachment) => {
        this.#attachments.push(attachment)
        if (this.#state === 'started') attachment.start()
      },
    }
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
      // Without indexes that may wait for transactions of others: a start must not.
      const upToDate = () => this.#store.migrate({ destinationIndexes: false })
      await (migrate
        ? this.#startStep('bringing the schema up to date', upToDate)
        : this.#startStep('checking the schema', () => this.#limited.checkSchema()))
      const findings = await this.#startStep('examining the database', () =>
        this.#limited.doctor?.(usualDoctorRequest),
      )
      if (this.engine) requireVisibleRows(findings)
      for (const { code, severity, message, fix } of findings ?? []) {
        if (severity !== 'info') this.logger.warn(`${message} ${fix} (${code})`)
      }
      this.requireKnownDestinations()
      await this.#startStep('publishing the routing', () => this.#routingState.publish())
      await this.#startStep('registering this process', () => this.#nodeKeeper.join())
    } catch (error) {
      if (this.#state === 'started') this.#state = 'new'
      throw error
    }
    // The outbox may have been closed during the awaits above.
    this.requireStarted('start')
    this.engine?.start()
    for (const each of this.#attachments) each.start()
    this.#unobserve = observeWith(this.#options.metrics, this, this.#pluggedIn)
    this.#purge?.start()
    this.#upkeep?.start()
  }

  /** What this process holds and does now. */
  process(): ProcessState {
    return {
      ...(this.engine?.state ?? nothingHeld),
      sincePollMs: this.engine?.sincePollMs,
      isOutage: this.#recovery.isOutage,
      breakers: this.engine?.breakers ?? {},
    }
  }

  /** The state of the table, at most 5 s old; undefined if the store does not answer soon. */
  table(): Promise<TableState | undefined> {
    return this.#tableLook.read()
  }

  /** Whether this process is live and ready, and why not. */
  health(): Promise<OutboxHealth> {
    const { leaseMs = outboxDefaults.leaseMs, poller, health = {} } = this.#options
    return healthOf({
      source: this,
      notStarted: this.isStarted ? undefined : `The outbox is not started: it is ${this.#state}.`,
      isBarred: this.#isBarred,
      hasLooks: this.#store.looks !== undefined,
      sinceTryMs: this.isStarted ? this.engine?.sinceTryMs : undefined,
      stalledMs: stalledAfter * ((poller?.intervalMs ?? pollerDefaults.intervalMs) + leaseMs),
      thresholds: health,
    })
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
    this.#unobserve?.()
    const {
      drainTimeoutMs = closeDefaults.drainTimeoutMs,
      shutdownTimeoutMs = closeDefaults.shutdownTimeoutMs,
    } = this.#options
    const engineMs = 2 * drainTimeoutMs + shutdownTimeoutMs + closingMarginMs
    if (started) {
      const untilNoneIsOpen = () =>
        this.#attempt('Waiting for open transactions', drainTimeoutMs, () => this.transactions.ended())
      const ended = await untilNoneIsOpen()
      for (const each of this.#attachments) {
        await this.#attempt('Stopping an inbox', drainTimeoutMs, () => each.close())
      }
      await this.#attempt('Stopping the purge', drainTimeoutMs, () => this.#purge?.close())
      await this.#attempt('Stopping the upkeep', drainTimeoutMs, () => this.#upkeep?.close())
      await this.#attempt('Stopping the engine', engineMs, () => this.engine?.close())
      this.engine?.abandon()
      // More may have begun while listeners ran. We do not wait twice for one that does not end.
      if (ended) await untilNoneIsOpen()
      await this.#attempt('Reporting for the last time', drainTimeoutMs, () => this.#reporter?.close())
      await this.#attempt('Signing off', drainTimeoutMs, () => this.#nodeKeeper.leave())
    }
    await this.#attempt('Closing the store', drainTimeoutMs, () => this.#store.close())
    this.#pluggedIn.flush()
    this.#state = 'closed'
  }

  /**
   * Returns whether the work succeeded in time. A database that does not answer must not keep a process from
   * ending.
   */
  async #attempt(what: string, timeoutMs: number, work: () => Promise<void> | undefined): Promise<boolean> {
    const tooLate = Promise.withResolvers<void>()
    const cancel = this.#clock.schedule(
      timeoutMs + closingMarginMs,
      () => tooLate.reject(new Error('The database did not answer in time.')),
      'keepAlive',
    )
    try {
      await Promise.race([work(), tooLate.promise])
      return true
    } catch (error) {
      this.logger.warn(`${what} failed. ${describeError(error)}`)
      return false
    } finally {
      cancel()
    }
  }

  /** The destinations in the routing of this process, and in that of the table. */
  get knownDestinations(): readonly string[] {
    const { expansion } = this.#routingState
    return ['', ...(this.#routing?.destinations.keys() ?? []), ...(expansion?.destinations ?? [])]
  }

  /**
   * Throws `OUTBOX_UNKNOWN_DESTINATION` if a listener is for a destination that the routing does not name.
   */
  requireKnownDestinations(): void {
    const known = this.#routing?.destinations ?? new Map([['', {}]])
    for (const destination of this.listeners.destinations) {
      if (known.has(destination)) continue
      throw new OutboxError(
        'OUTBOX_UNKNOWN_DESTINATION',
        `A listener is registered for destination "${destination}", but the routing of this outbox does not name it.` +
          `${didYouMean(destination, [...known.keys()])} Add it to the option "routing": destinations: { ${JSON.stringify(destination)}: {} }.`,
      )
    }
  }

  get isStarted(): boolean {
    return this.#state === 'started'
  }

  /**
   * Whether a transaction may begin. Transactions that were open when closing began may still begin parts,
   * and complete. While a listener runs, new ones may begin: a refusal would cost its event an attempt at
   * each deployment.
   */
  get isOpen(): boolean {
    return this.#state === 'started' || this.#isClosingAround(this.transactions.isTransactionActive())
  }

  /** Whether an event may be written. */
  get isWritable(): boolean {
    return this.#state === 'started' || this.#isClosingAround(this.transactions.openCount > 0)
  }

  #isClosingAround(openTransaction: boolean): boolean {
    return this.#state === 'closing' && (openTransaction || this.engine?.runsListeners === true)
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

/** How many intervals and leases may pass without a poll before the poller counts as stuck. */
const stalledAfter = 5

const nothingHeld = { queues: { hot: 0, cold: 0 }, held: { leased: 0, locked: 0 }, partitions: 0 }

/** A worker that does not see some events would never deliver them, and would not notice. */
function requireVisibleRows(findings: readonly Finding[] = []): void {
  const hidden = findings.find(({ code }) => code === 'ROWS_HIDDEN')
  if (hidden !== undefined) throw rowsHidden(hidden)
}

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
