import type { Clock } from '../clock.ts'
import type { DispatchSettings } from '../dispatch/dispatcher-options.ts'
import { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { OutboxError } from '../errors.ts'
import { delay } from '../event/delay.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import type { ContextCarrier } from '../observe/context-carrier.ts'
import type { HealthThresholds } from '../observe/health.ts'
import type { Logger } from '../observe/logger.ts'
import { type MetricsExporter, metricsMethods } from '../observe/metrics.ts'
import type { Tracer } from '../observe/tick-span.ts'
import type { Tracing } from '../observe/tracing.ts'
import {
  callable,
  checkOptions,
  count,
  countOrInfinity,
  duration,
  durationOrZero,
  flag,
  having,
  invalidOption,
  loggerOrFalse,
  oneOf,
  type OptionCheck,
  requireOptions,
  text,
} from '../options.ts'
import { circuitBreakerChecks, type CircuitBreakerOptions } from '../process/circuit-breaker.ts'
import { type PurgeOptions, purgeOptionChecks } from '../purge/outbox-purge-scheduler.ts'
import { ListenerRegistry } from '../route/listener-registry.ts'
import type { RoutingOptions } from '../route/routing-options.ts'
import type { OutboxStore } from '../store/index.ts'
import type { SqlTx, TransactionOptions, Transactions } from '../transactions.ts'
import type { MaybeHook, WriterHook } from '../write/writer-hook.ts'

/** Defaults of the options that belong to no part. */
export const outboxDefaults = { leaseMs: 30_000, migrate: true }

/** Options of `Outbox.writerOnly`. */
export interface WriterOnlyOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
> {
  /** The database that the events are kept in. */
  readonly store: OutboxStore<StoreTx>
  /** Runs the transactions of an ORM or a driver. Default: the store's own. */
  readonly transactions?: Transactions<Tx, StoreTx | SqlTx, TxOptions>
  /**
   * Which events go to which destinations. Processes without it follow the routing of the table. Default:
   * every event has one destination, the empty one.
   */
  readonly routing?: RoutingOptions
  /** Takes part in every write, and may change or suppress events. Default: none. */
  readonly writerHook?: Hook
  /** Turns payloads and headers into JSON text and back. Default: `JsonCodec.getDefault()`. */
  readonly codec?: JsonCodec
  /** Gets all reports of faults; `false` for none. By default, warnings and errors go to standard error. */
  readonly logger?: Logger | false
  /** Counts what the outbox does. Default: none. */
  readonly metrics?: MetricsExporter
  /** Makes spans of what the outbox does, and carries the trace of a write to its delivery. Default: none. */
  readonly tracing?: Tracing
  /** Carry values of the writing code to listeners, such as a tenant. Default: none. */
  readonly context?: readonly ContextCarrier[]
  /** When `health()` says that the outbox is not ready. */
  readonly health?: HealthThresholds
  /** A name for this process, shown on the rows it holds. The outbox adds a unique ending. */
  readonly ownerId?: string
  /** Deletes old events at intervals; nothing is deleted by default. */
  readonly purge?: PurgeOptions | true
  /**
   * Whether `start()` creates and updates the tables. With false, it only checks that they exist and are
   * current. Default: true.
   */
  readonly migrate?: boolean
  /** The source of time and timers, for tests. Default: that of the system. */
  readonly clock?: Clock
  /**
   * Returns a number from 0 to below 1, for the pauses of the default retry policy and for the name of this
   * process. For tests. Default: that of the system.
   */
  readonly random?: () => number
}

/** Options of `Outbox.singleNode` and `Outbox.multiNode`. */
export interface OutboxOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
>
  extends Omit<WriterOnlyOptions<Tx, StoreTx, TxOptions, Hook>, 'purge'>, Partial<DispatchSettings> {
  /** The registry of listeners, which `outbox.on` uses too. Default: a new, empty one. */
  readonly listeners?: ListenerRegistry
  /** How long a process keeps a row without renewing its lease, in milliseconds. Default: 30 s. */
  readonly leaseMs?: number
  /** How often and how much this process reads from the store. */
  readonly poller?: Partial<PollerSettings>
  /** Deletes old events at intervals; nothing is deleted by default. */
  readonly purge?: Omit<PurgeOptions, 'ageMs'> | true
  /** How long `close()` continues to deliver queued events, in milliseconds. Default: 5 s. */
  readonly drainTimeoutMs?: number
  /** How long `close()` waits for running listeners, in milliseconds. Default: 15 s. */
  readonly shutdownTimeoutMs?: number
}

/** Options of `Outbox.singleWriter`. */
export interface SingleWriterOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
> extends OutboxOptions<Tx, StoreTx, TxOptions, Hook> {
  /** The lock whose holder delivers the events that the hot path left. */
  readonly lock?: Partial<SingleWriterLock>
  /** Options of the circuit breaker between a commit and the listener; `false` for no breaker. */
  readonly circuitBreaker?: CircuitBreakerOptions | false
  /** An OpenTelemetry tracer. It gets a span for every tick. */
  readonly tracer?: Tracer
}

/** Settings of the lock of `Outbox.singleWriter`. */
export interface SingleWriterLock {
  /** The name of the lock. Default: `outbox-poller`. */
  readonly name: string
  /** How long the lock lasts without a renewal, in milliseconds. Default: `leaseMs`. */
  readonly ttlMs: number
  /**
   * The worker renews the lock before a delivery if the lock has less than this many milliseconds left.
   * Default: a third of `ttlMs`.
   */
  readonly renewMarginMs: number
}

/** Options of the modes that keep order. They have no hot path, and so none of its options. */
interface InOrder<Tx, StoreTx, TxOptions, Hook extends MaybeHook> extends Omit<
  OutboxOptions<Tx, StoreTx, TxOptions, Hook>,
  'hotQueueCapacity' | 'hotShare' | 'poller'
> {
  /** How often and how much this process reads from the store. */
  readonly poller?: Omit<Partial<PollerSettings>, 'skipRecentMs'>
}

/** Options of `Outbox.ordered`. */
export interface OrderedOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
> extends Omit<InOrder<Tx, StoreTx, TxOptions, Hook>, 'workerCount'> {
  /**
   * How to treat a failed event. With `'dead'`, the default, it is DEAD after `maxAttempts` attempts, which
   * is 1 by default. With `'retryForever'`, it is retried without end, with the pauses of the retry policy,
   * and all later events wait.
   */
  readonly onFailure?: 'dead' | 'retryForever'
}

/** Options of `Outbox.partitioned`. */
export interface PartitionedOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
> extends InOrder<Tx, StoreTx, TxOptions, Hook> {
  /**
   * How a failed event affects later events of its key. With `'blockUntilDead'`, the default, they wait until
   * it is delivered or DEAD. With `'block'`, it never becomes DEAD by itself, and they wait until an operator
   * decides. With `'continue'`, they are delivered before it.
   */
  readonly onKeyFailure?: 'blockUntilDead' | 'block' | 'continue'
}

/** Settings of the poller. */
export interface PollerSettings {
  /** Whether this process polls by itself. With false, only `outbox.poll()` does. Default: true. */
  readonly enabled: boolean
  /** The longest pause between two polls, in milliseconds. Default: 5 s. */
  readonly intervalMs: number
  /**
   * The pause after a poll that found rows, in milliseconds. It doubles with each poll that finds none.
   * Default: 100 ms for stores without wake-ups, otherwise `intervalMs`.
   */
  readonly busyIntervalMs: number
  /**
   * The size of the first batch of a drain. It doubles while batches come back full, up to `maxBatchSize`.
   * Default: 50; 500 for `singleWriter`; 1,000 for `ordered` and `partitioned`.
   */
  readonly batchSize: number
  /** The largest batch. Default: 500; 4,000 for `ordered` and `partitioned`. */
  readonly maxBatchSize: number
  /** Skips events that were written less than this long ago, in milliseconds. Default: 0. */
  readonly skipRecentMs: number
}

const writerChecks: Record<string, OptionCheck> = {
  store: having('claim', 'insert', 'settle', 'transaction'),
  transactions: having('transaction', 'storeTx'),
  writerHook: having(),
  routing: having(),
  codec: having('toJson', 'fromJson'),
  logger: loggerOrFalse,
  metrics: having(...metricsMethods),
  tracing: having('write', 'deliver', 'settle', 'tick'),
  context: having('map'),
  health: having(),
  ownerId: text,
  purge: (value) => (value === true ? undefined : having()(value)),
  migrate: flag,
  clock: having('now', 'monotonic', 'schedule', 'defer'),
  random: callable,
}

const orderedChecks: Record<string, OptionCheck> = {
  ...writerChecks,
  listeners: (value) => (value instanceof ListenerRegistry ? undefined : 'a ListenerRegistry'),
  inFlightTracker: (value) => (value instanceof InFlightTracker ? undefined : 'an InFlightTracker'),
  poller: having(),
  coldQueueCapacity: count,
  maxAttempts: countOrInfinity,
  retryPolicy: having('computeDelayMs'),
  retryPolicyByType: having(),
  maxLosses: count,
  leaseMs: duration,
  listenerTimeoutMs: duration,
  timeoutGraceMs: duration,
  onUnroutable: oneOf('dead', 'defer'),
  unroutableDelayMs: (value) => duration(value) ?? delay(value),
  settleFirst: flag,
  deleteCompleted: flag,
  interceptors: having('map'),
  processors: having(),
  drainTimeoutMs: durationOrZero,
  shutdownTimeoutMs: durationOrZero,
}

const optionChecks: Record<OutboxMode, Record<string, OptionCheck>> = {
  writerOnly: writerChecks,
  ordered: { ...orderedChecks, onFailure: oneOf('dead', 'retryForever') },
  partitioned: {
    ...orderedChecks,
    workerCount: count,
    onKeyFailure: oneOf('blockUntilDead', 'block', 'continue'),
  },
  singleWriter: {
    ...orderedChecks,
    workerCount: count,
    hotQueueCapacity: count,
    hotShare: count,
    lock: having(),
    circuitBreaker: (value) => (value === false ? undefined : having()(value)),
    tracer: having('startSpan'),
  },
  singleNode: { ...orderedChecks, workerCount: count, hotQueueCapacity: count, hotShare: count },
  multiNode: { ...orderedChecks, workerCount: count, hotQueueCapacity: count, hotShare: count },
}

/** The name of a mode; also that of its preset. */
export type OutboxMode =
  'singleNode' | 'multiNode' | 'singleWriter' | 'ordered' | 'partitioned' | 'writerOnly'

/** The modes that deliver. */
export type DeliveringMode = Exclude<OutboxMode, 'writerOnly'>

/**
 * Throws `OUTBOX_INVALID_OPTION` for a value that does not fit, and for an option that this mode does not
 * have.
 */
export function checkOutboxOptions(mode: OutboxMode, options: object): void {
  if (!Object.hasOwn(optionChecks, mode)) {
    const presets = Object.keys(optionChecks).map((name) => `Outbox.${name}()`)
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `Outbox has no public constructor. Make one with a preset: ${presets.join(', ')}.`,
    )
  }
  const what = `Outbox.${mode}`
  checkOptions(what, options, optionChecks[mode])
  requireOptions(what, options, ['store'])

  const {
    poller = {},
    purge = {},
    processors = {},
    retryPolicyByType = {},
  } = options as Partial<OutboxOptions<never, never>>
  const everyPolicy = Object.keys(retryPolicyByType).map((type) => [type, having('computeDelayMs')] as const)
  checkOptions(`the retryPolicyByType of ${what}`, retryPolicyByType, Object.fromEntries(everyPolicy))
  checkOptions(`the poller of ${what}`, poller, {
    enabled: flag,
    intervalMs: duration,
    busyIntervalMs: duration,
    batchSize: count,
    maxBatchSize: count,
    ...(mode === 'ordered' || mode === 'partitioned' ? {} : { skipRecentMs: durationOrZero }),
  })
  const { ageMs, ...consumedPurgeChecks } = purgeOptionChecks
  if (purge !== true) {
    checkOptions(
      `the purge of ${what}`,
      purge,
      mode === 'writerOnly' ? { ...consumedPurgeChecks, ageMs } : consumedPurgeChecks,
    )
  }
  const { context = [], health = {} } = options as Partial<WriterOnlyOptions<never, never>>
  for (const carrier of context) {
    checkOptions(`a carrier in the context of ${what}`, carrier, {
      name: text,
      capture: callable,
      restore: callable,
    })
    requireOptions(`a carrier in the context of ${what}`, carrier, ['name', 'capture', 'restore'])
    // The outbox gives these headers a meaning, and a header of the last name would be lost.
    if (/^(?:event-version$|sendoff-|__proto__$)/i.test(carrier.name)) {
      throw new OutboxError(
        'OUTBOX_INVALID_OPTION',
        `A carrier in the context of ${what} cannot have the name ${JSON.stringify(carrier.name)}.`,
      )
    }
  }
  checkOptions(`the health of ${what}`, health, {
    maxPollAgeMs: duration,
    maxLagMs: duration,
    maxDeadMs: duration,
  })
  const { lock = {}, circuitBreaker = {} } = options as Partial<SingleWriterOptions<never, never>>
  checkOptions(`the lock of ${what}`, lock, { name: text, ttlMs: duration, renewMarginMs: duration })
  requireMarginWithin(what, lock, (options as Partial<OutboxOptions<never, never>>).leaseMs)
  if (circuitBreaker !== false)
    checkOptions(`the circuitBreaker of ${what}`, circuitBreaker, circuitBreakerChecks)
  const stage = having('process')
  checkOptions(`the processors of ${what}`, processors, {
    primary: stage,
    retry: stage,
    fallback: stage,
    permanentFailure: stage,
  })
}

/** Refuses a margin as long as the lock: the lock would be due for renewal as soon as it is acquired. */
function requireMarginWithin(
  what: string,
  { ttlMs, renewMarginMs }: Partial<SingleWriterLock>,
  leaseMs = outboxDefaults.leaseMs,
): void {
  const longestMs = ttlMs ?? leaseMs
  if (renewMarginMs === undefined || renewMarginMs < longestMs) return
  const limit: OptionCheck = () => `less than its ttlMs, which is ${longestMs}`
  throw invalidOption(`the lock of ${what}`, 'renewMarginMs', renewMarginMs, limit)
}
