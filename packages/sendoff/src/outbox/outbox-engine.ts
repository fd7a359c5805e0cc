import type { Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { coldOnly } from '../wake/poller-wake-ups.ts'
import { DispatcherHotPath } from '../hot-path/dispatcher-hot-path.ts'
import type { LaneSettings, OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import { laneKeyOf, partitionOfLane } from '../delivery/lane-key.ts'
import { OutboxDispatcher } from '../dispatch/outbox-dispatcher.ts'
import type { Pauses } from '../hold/pauses.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import { OutboxError } from '../errors.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import type { Logger } from '../observe/logger.ts'
import type { MetricsExporter } from '../observe/metrics.ts'
import type {
  OrderedOptions,
  OutboxMode,
  OutboxOptions,
  PartitionedOptions,
  SingleWriterOptions,
} from './outbox-options.ts'
import type { Announcer } from '../wake/announcer.ts'
import { claimRows, claimSource, type ClaimSourceOptions } from '../poll/claim-source.ts'
import { LaneSource } from '../poll/lane-source.ts'
import { LeaseKeeper } from '../hold/lease-keeper.ts'
import { memberSource } from '../poll/member-source.ts'
import { NamedLock } from '../hold/named-lock.ts'
import { onlyLane, OrderedSource } from '../poll/ordered-source.ts'
import { defaultBatchSize, defaultIntervalMs, OutboxPoller } from '../poll/outbox-poller.ts'
import { OwnerSource } from '../poll/owner-source.ts'
import { PartitionKeeper, type PartitionKeeperOptions } from '../hold/partition-keeper.ts'
import type { PendingSource } from '../poll/pending-source.ts'
import { SingleWriterSource } from '../poll/single-writer-source.ts'
import { TypedClaimSource } from '../poll/typed-claim-source.ts'
import {
  type Lease,
  type OutboxPartitions,
  type OutboxStore,
  participantLock,
  type WakeUp,
} from '../store/index.ts'
import { CircuitBreaker } from '../process/circuit-breaker.ts'
import { FailurePause } from '../process/failure-pause.ts'
import type { HotPath } from '../write/hot-path.ts'

export interface OutboxEngineParts {
  /** The store, with a time limit on what is asked of it. */
  readonly store: OutboxStore<never>
  readonly announcer: Announcer
  readonly clock: Clock
  readonly codec: JsonCodec
  readonly lease: Lease
  readonly logger: Logger
  readonly metrics: MetricsExporter
  readonly pauses: Pauses
  readonly recovery: StoreRecovery
  readonly membership: Membership
}

/** Whether this process may use the table in its mode. */
export interface Membership {
  /** Surely, and at this moment. */
  isMember(): boolean
  /** Asks the store if that may have changed. */
  staysMember(): Promise<boolean>
}

const lockName = 'outbox-poller'

/** Each key has few events in hand at a time: there has to be room for many keys. */
const laneCapacity = 8_000

/** Lanes are filled many at a time, and then as they run empty. */
const laneBatches = { batchSize: 1_000, maxBatchSize: 4_000 }

const tickBatches = { batchSize: 500 }

/** What a single writer has sent and not settled is sent again when its lock is lost: it must not be much. */
const tickUnsettled = 500

/** Whom nobody can tell of others' events looks often while there are some. */
const blindBusyIntervalMs = 100

/** What every mode but the writers' has: the parts that deliver, put together for the mode. */
export class OutboxEngine {
  readonly hotPath: HotPath
  readonly poller: OutboxPoller
  readonly dispatcher: OutboxDispatcher
  readonly breaker: CircuitBreaker | undefined
  readonly #lock: NamedLock | undefined
  readonly #keeper: PartitionKeeper | undefined
  readonly #source: PendingSource
  readonly #leaseKeeper: LeaseKeeper
  readonly #logger: Logger
  readonly #pauses: Pauses
  readonly #recovery: StoreRecovery
  readonly #options: OutboxOptions<never, never>
  #stopListening: Promise<(() => Promise<void>) | undefined> | undefined

  constructor(
    mode: Exclude<OutboxMode, 'writerOnly'>,
    options: OutboxOptions<never, never>,
    parts: OutboxEngineParts,
  ) {
    const { listeners } = options
    const { store, lease, pauses, recovery, membership } = parts
    const shared = parts
    this.#options = options
    this.#logger = parts.logger
    this.#pauses = pauses
    this.#recovery = recovery
    this.#lock = mode === 'multiNode' ? undefined : this.#namedLock(mode, shared)
    const lock = this.#lock
    const wakePoller = (inMs?: number) => this.poller.wake(inMs)
    const order = orderOf(mode, options)
    this.breaker = mode === 'singleWriter' ? breakerOf(options, parts) : undefined
    const { breaker } = this
    const failures = breaker && new FailurePause({ clock: parts.clock, pauseMs: breaker.coolDownMs })

    this.dispatcher = new OutboxDispatcher({
      timeoutGraceMs: lease.ms,
      resultsKeptMs: lease.ms * 4,
      ...options,
      ...(mode === 'singleWriter' && {
        workerCount: options.workerCount ?? 1,
        maxUnsettled: tickUnsettled,
        mayBegin: (again) => (failures?.isOver(again) ?? true) && lock!.hasTimeLeft(again),
        ...(failures && { onOutcome: (outcome) => failures.ended(outcome) }),
      }),
      ...(mode === 'multiNode' && {
        prefetch: { first: options.poller?.batchSize ?? defaultBatchSize },
        onHandedBack: () => parts.announcer.announce(),
      }),
      ...order?.settings,
      ...shared,
      ...(breaker && { breaker }),
      ...(order && { lanes: { ...order.lanes, onEmptyLane: () => this.poller.resume() } }),
      ...(lock && { onRefusedUnderLock: () => lock.doubt() }),
      recordHeld: async () => this.#source.recordHeld?.(),
      ...(lock && { onlyRunning: () => this.#giveBackLock(lock, polling) }),
      claimAgain: async ({ row, source }) => (await claimRows(polling, [row], source))[0],
      wakePoller,
      onRoom: () => this.poller.resume(),
    })
    const { inFlight, lanes } = this.dispatcher
    const polling = { ...shared, inFlight, skipRecentMs: options.poller?.skipRecentMs ?? 0 }
    if (lock === undefined) {
      this.#source =
        options.onUnroutable === 'defer'
          ? new TypedClaimSource({
              ...polling,
              listeners,
              wakePoller,
              intervalMs: options.poller?.intervalMs ?? defaultIntervalMs,
            })
          : claimSource(polling)
    } else if (lanes === undefined) {
      const source = new OwnerSource({ ...polling, lock })
      this.#source = mode === 'singleWriter' ? this.#singleWriterSource(source, lock) : source
    } else {
      const laning = {
        ...polling,
        partitions: requirePartitions(mode, shared.store),
        lanes,
        lock,
        wakePoller,
      }
      this.#keeper = mode === 'partitioned' ? this.#partitionKeeper(laning, parts) : undefined
      this.#source =
        this.#keeper === undefined
          ? new OrderedSource(laning)
          : new LaneSource({
              ...laning,
              keeper: this.#keeper,
              skipWaiting: order?.lanes.onFailure === 'continue',
            })
    }
    this.poller = new OutboxPoller({
      ...polling,
      ...(store.wakeUps === undefined ? { busyIntervalMs: blindBusyIntervalMs } : {}),
      ...(mode === 'singleWriter' && tickBatches),
      ...(lanes && laneBatches),
      ...options.poller,
      source: memberSource(this.#source, () => membership.staysMember()),
      handler: {
        handle: (delivery) => this.dispatcher.enqueueCold(delivery),
        availableCapacity: () => this.dispatcher.coldQueueRemainingCapacity(),
      },
    })
    this.#leaseKeeper = new LeaseKeeper({ ...shared, inFlight })
    const signals = {
      ...shared,
      wakePoller: (inMs: number, partitions?: readonly number[]) => {
        // A commit was seen, so that the store is there.
        recovery.answered()
        if (this.#concerns(partitions)) this.poller.wake(inMs)
      },
      announce: (partitions?: readonly number[], inMs?: number) => parts.announcer.announce(partitions, inMs),
    }
    // Order forbids a way past the poller.
    this.hotPath =
      order !== undefined
        ? coldOnly(signals)
        : new DispatcherHotPath({
            ...signals,
            dispatcher: this.dispatcher,
            listeners,
            pauses,
            mayDeliver: () => membership.isMember(),
            breaker,
            claimKeys: (keys) => claimRows(polling, keys, 'hot'),
          })
  }

  start(): void {
    this.#leaseKeeper.start()
    if (!(this.#options.poller?.enabled ?? true)) return
    this.#keeper?.start()
    this.poller.start()
    this.#stopListening = this.#listen()
  }

  /** Resolves when nothing is on its way to a listener, with one, or waiting for its settlement. */
  async idle(): Promise<void> {
    if (this.hotPath instanceof DispatcherHotPath) await this.hotPath.idle()
    await this.dispatcher.idle()
  }

  async close(): Promise<void> {
    await (
      await this.#stopListening
    )?.()
    const polled = this.poller.close()
    // A single writer's tick ends with its deliveries.
    if (this.#source.drained === undefined) await polled
    await this.#keeper?.stop()
    await this.dispatcher.close(this.#options)
    await polled
    this.abandon()
  }

  /**
   * Leases what still runs here row by row, and gives the lock back: the next owner begins with everything else at once, and with these
   * when their leases have run out. Never rejects.
   */
  async #giveBackLock(lock: NamedLock, claiming: ClaimSourceOptions): Promise<void> {
    const { inFlight } = this.dispatcher
    try {
      const running = inFlight.unclaimed().map(({ row }) => row)
      if (lock.holding !== undefined && running.length > 0) {
        this.dispatcher.carryOn(await claimRows(claiming, running, 'cold'))
      }
      // Of a paused type no row can be claimed. The lock then runs out by itself, and what was in hand counts as lost.
      if (inFlight.unclaimed().length > 0) return
      await lock.release()
      if (this.#keeper !== undefined) await this.#options.store.wakeUps?.announce()
    } catch (error) {
      this.#logger.warn(`Releasing the lock failed; it runs out by itself. ${describeError(error)}`)
    }
  }

  /** Takes nothing more until `unbar`. What is queued is handed back, and what runs is settled while its lease or lock lasts. */
  async bar(): Promise<void> {
    this.#lock?.abandon()
    this.#keeper?.lost()
    await this.dispatcher.bar()
  }

  /** Takes events again. */
  unbar(): void {
    this.dispatcher.unbar()
    this.#keeper?.wake()
    this.wake()
  }

  /** Stops everything that runs by itself, whatever is still under way. */
  abandon(): void {
    this.#leaseKeeper.stop()
    this.#lock?.abandon()
  }

  // Without wake-ups the poller still looks at its own intervals.
  async #listen(): Promise<(() => Promise<void>) | undefined> {
    try {
      return await this.#options.store.wakeUps?.listen((wakeUp) => this.#woken(wakeUp))
    } catch (error) {
      this.#logger.warn(`Listening for wake-ups failed; events are found by polling. ${describeError(error)}`)
      return undefined
    }
  }

  /** Something may have become due that nobody here has written. */
  wake(): void {
    this.dispatcher.forgetResults()
    this.#source.forgetWaiting?.()
    this.poller.wake()
  }

  #woken({ partitions, inMs = [0], controls = false }: WakeUp): void {
    if (controls) void this.#controlsChanged()
    else if (this.#concerns(partitions)) inMs.forEach((ms) => this.poller.wake(ms))
    if (partitions === undefined && inMs.includes(0)) this.#keeper?.wake()
  }

  // Otherwise what is resumed here would be handed back as paused until the next heartbeat.
  async #controlsChanged(): Promise<void> {
    await this.#pauses.refresh()
    this.wake()
  }

  /** Whether something in these partitions, or wherever it may be, is for this process to deliver. */
  #concerns(partitions: readonly number[] | undefined): boolean {
    return partitions === undefined || this.#keeper === undefined || this.#keeper.ownsOneOf(partitions)
  }

  #singleWriterSource(source: OwnerSource, lock: NamedLock): SingleWriterSource {
    const { tracer } = this.#options as SingleWriterOptions<never, never>
    return new SingleWriterSource({
      source,
      lock,
      logger: this.#logger,
      tracer,
      untilSettled: (deliveries) => this.dispatcher.untilSettled(deliveries),
    })
  }

  #namedLock(mode: OutboxMode, { store, lease, clock, logger, recovery }: OutboxEngineParts): NamedLock {
    const { name = lockName } = (this.#options as SingleWriterOptions<never, never>).lock ?? {}
    return new NamedLock({
      locks: store.locks,
      name: mode === 'partitioned' ? participantLock : name,
      token: lease.owner,
      ...lockTimesOf(mode, this.#options, lease.ms),
      clock,
      logger,
      recovery,
      onLost: () => this.#lockLost(),
      ...((mode === 'singleNode' || mode === 'ordered') && {
        onStandBy: ({ lock }) =>
          logger.warn(
            `This process stands by: another one holds the lock "${lock}" and delivers. This one takes over when that one ends.`,
          ),
      }),
    })
  }

  #partitionKeeper(
    options: Pick<PartitionKeeperOptions, 'partitions' | 'lock' | 'clock' | 'logger'>,
    { lease, announcer, recovery, membership }: OutboxEngineParts,
  ): PartitionKeeper {
    const canBeWoken = this.#options.store.wakeUps !== undefined
    return new PartitionKeeper({
      ...options,
      recovery,
      intervalMs: lease.ms / (canBeWoken ? 2 : 6),
      mayShare: () => membership.isMember(),
      letGo: (partition) => this.dispatcher.leavePartition(partition),
      onGained: () => this.poller.wake(),
      announce: () => announcer.announce(),
    })
  }

  #lockLost(): void {
    const { lock } = this.#lock!.fence
    // An outage is told already.
    const level = this.#recovery.isOutage ? 'debug' : 'warn'
    this.#logger[level](`The lock "${lock}" was lost: what was read under it is left to its next owner.`)
    for (const delivery of this.dispatcher.inFlight.values()) if (delivery.lock !== undefined) delivery.lose()
    this.#keeper?.lost()
    this.poller.wake()
  }
}

function breakerOf(
  options: OutboxOptions<never, never>,
  { clock, logger, metrics }: OutboxEngineParts,
): CircuitBreaker | undefined {
  const { circuitBreaker = {} } = options as SingleWriterOptions<never, never>
  if (circuitBreaker === false) return undefined
  return new CircuitBreaker(circuitBreaker, {
    clock,
    logger,
    onState: (state) => metrics.recordCircuitBreakerState(state),
  })
}

/** How long the lock of a mode lasts, and how long before its end it is renewed. */
export function lockTimesOf(
  mode: OutboxMode,
  options: object,
  leaseMs: number,
): { readonly ttlMs: number; readonly renewMarginMs: number } {
  const { ttlMs = leaseMs, renewMarginMs } = (options as SingleWriterOptions<never, never>).lock ?? {}
  return { ttlMs, renewMarginMs: mode === 'singleWriter' ? (renewMarginMs ?? ttlMs / 3) : ttlMs / 2 }
}

interface Order {
  readonly lanes: Omit<LaneSettings, 'onEmptyLane'>
  readonly settings: Partial<OutboxDispatcherOptions>
}

/** How a mode keeps order; undefined for those that do not. */
function orderOf(mode: OutboxMode, options: OutboxOptions<never, never>): Order | undefined {
  if (mode === 'ordered') {
    const { onFailure = 'dead', maxAttempts } = options as OrderedOptions<never, never>
    return {
      lanes: { laneOf: () => onlyLane, partitionOf: () => 0, onFailure: 'wait' },
      settings: {
        workerCount: 1,
        onGivenUp: () => (onFailure === 'retryForever' ? 'retry' : 'dead'),
        ...(onFailure === 'dead' && { maxAttempts: maxAttempts ?? 1 }),
      },
    }
  }
  if (mode !== 'partitioned') return undefined

  const { onKeyFailure = 'blockUntilDead' } = options as PartitionedOptions<never, never>
  return {
    lanes: {
      laneOf: laneKeyOf,
      partitionOf: partitionOfLane,
      onFailure: onKeyFailure === 'continue' ? 'continue' : 'wait',
    },
    settings: {
      coldQueueCapacity: options.coldQueueCapacity ?? laneCapacity,
      onGivenUp: ({ orderingKey }) => (onKeyFailure === 'block' && orderingKey !== null ? 'block' : 'dead'),
    },
  }
}

function requirePartitions(mode: OutboxMode, { partitions }: OutboxStore<never>): OutboxPartitions {
  if (partitions !== undefined) return partitions
  throw new OutboxError('OUTBOX_INVALID_OPTION', `The store of Outbox.${mode} cannot keep events in order.`)
}
