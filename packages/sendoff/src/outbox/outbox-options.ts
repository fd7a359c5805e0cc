import type { Clock } from '../clock.ts'
import type { DispatchSettings } from '../dispatch/dispatcher-options.ts'
import { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { OutboxError } from '../errors.ts'
import { delay } from '../event/delay.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import type { Logger } from '../observe/logger.ts'
import { type MetricsExporter, metricsMethods } from '../observe/metrics.ts'
import type { Tracer } from '../observe/tracing.ts'
import {
  checkOptions,
  count,
  countOrInfinity,
  duration,
  durationOrZero,
  flag,
  having,
  invalidOption,
  oneOf,
  type OptionCheck,
  requireOptions,
  text,
} from '../options.ts'
import { circuitBreakerChecks, type CircuitBreakerOptions } from '../process/circuit-breaker.ts'
import { type PurgeOptions, purgeOptionChecks } from '../purge/outbox-purge-scheduler.ts'
import { ListenerRegistry } from '../route/listener-registry.ts'
import type { OutboxStore } from '../store/index.ts'
import type { SqlTx, TransactionOptions, Transactions } from '../transactions.ts'
import type { MaybeHook, WriterHook } from '../write/writer-hook.ts'

/** The value of each option that is left out and that no part has a default for. */
export const outboxDefaults = { leaseMs: 30_000, migrate: true }

/** Options of `Outbox.writerOnly`. */
export interface WriterOnlyOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
> {
  readonly store: OutboxStore<StoreTx>
  /** Transactions of an ORM or a driver; the store's own where left out. */
  readonly transactions?: Transactions<Tx, StoreTx | SqlTx, TxOptions>
  readonly writerHook?: Hook
  readonly codec?: JsonCodec
  /** Where faults are reported; `false` for nowhere. Warnings and errors go to standard error by default. */
  readonly logger?: Logger | false
  /** A name for this process, shown on the events it holds. A unique ending is added. */
  readonly ownerId?: string
  /** Removes old events now and then; nothing is removed where left out. */
  readonly purge?: PurgeOptions | true
  /** Whether `start()` creates and updates the tables: true. With false it only checks that they are there and current. */
  readonly migrate?: boolean
  readonly clock?: Clock
}

/** Options of `Outbox.singleNode` and `Outbox.multiNode`. */
export interface OutboxOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
>
  extends Omit<WriterOnlyOptions<Tx, StoreTx, TxOptions, Hook>, 'purge'>, Partial<DispatchSettings> {
  /** Where listeners are registered, beside `outbox.on`: an empty registry of its own. */
  readonly listeners?: ListenerRegistry
  /** How long an event stays with a process that does not renew its lease: 30 s. */
  readonly leaseMs?: number
  readonly poller?: Partial<PollerSettings>
  /** Removes old events now and then; nothing is removed where left out. */
  readonly purge?: Omit<PurgeOptions, 'ageMs'> | true
  /** How long `close()` goes on with queued events: 5 s. */
  readonly drainTimeoutMs?: number
  /** How long `close()` waits for running listeners: 15 s. */
  readonly shutdownTimeoutMs?: number
  readonly metrics?: MetricsExporter
}

/** Options of `Outbox.singleWriter`. */
export interface SingleWriterOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
> extends OutboxOptions<Tx, StoreTx, TxOptions, Hook> {
  readonly lock?: Partial<SingleWriterLock>
  /** Between a commit and the listener; `false` for none. */
  readonly circuitBreaker?: CircuitBreakerOptions | false
  /** Gets a span for every tick: a tracer of OpenTelemetry. */
  readonly tracer?: Tracer
}

export interface SingleWriterLock {
  /** `outbox-poller`. */
  readonly name: string
  /** How long it lasts without being renewed: `leaseMs`. */
  readonly ttlMs: number
  /** It is renewed before a delivery that would begin so shortly before its end: a third of `ttlMs`. */
  readonly renewMarginMs: number
}

/** Order leaves no choice about these: there is no way past the poller. */
interface InOrder<Tx, StoreTx, TxOptions, Hook extends MaybeHook> extends Omit<
  OutboxOptions<Tx, StoreTx, TxOptions, Hook>,
  'hotQueueCapacity' | 'hotShare' | 'poller'
> {
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
   * What becomes of an event that has failed: it is `'dead'`, after one attempt unless `maxAttempts` says otherwise. With
   * `'retryForever'` it is tried again and again, with pauses as the retry policy says, and everything behind it waits.
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
   * What a failed event does to those of its key: `'blockUntilDead'` lets them wait until it is delivered or DEAD. With
   * `'block'` it never becomes DEAD by itself, and they wait until somebody decides. `'continue'` delivers them before it.
   */
  readonly onKeyFailure?: 'blockUntilDead' | 'block' | 'continue'
}

export interface PollerSettings {
  readonly enabled: boolean
  /** The longest pause between two looks: 5 s. */
  readonly intervalMs: number
  /**
   * The pause after a look that found something, doubled with each that finds nothing: 100 ms where the store cannot
   * tell of events that other processes write, otherwise as `intervalMs`.
   */
  readonly busyIntervalMs: number
  /**
   * The first batch of a drain, doubled while batches come back full, up to `maxBatchSize`: 50, for `singleWriter` 500, for
   * `ordered` and `partitioned` 1,000.
   */
  readonly batchSize: number
  /** The largest batch: 500, for `ordered` and `partitioned` 4,000. */
  readonly maxBatchSize: number
  /** Leaves events alone that were written less than so long ago: 0. */
  readonly skipRecentMs: number
}

const writerChecks: Record<string, OptionCheck> = {
  store: having('claim', 'insert', 'settle', 'transaction'),
  transactions: having('transaction', 'storeTx'),
  writerHook: having(),
  codec: having('toJson', 'fromJson'),
  logger: (value) => (value === false ? undefined : having('debug', 'info', 'warn', 'error')(value)),
  ownerId: text,
  purge: (value) => (value === true ? undefined : having()(value)),
  migrate: flag,
  clock: having('now', 'monotonic', 'schedule'),
}

const orderedChecks: Record<string, OptionCheck> = {
  ...writerChecks,
  listeners: (value) => (value instanceof ListenerRegistry ? undefined : 'a ListenerRegistry'),
  inFlightTracker: (value) => (value instanceof InFlightTracker ? undefined : 'an InFlightTracker'),
  poller: having(),
  metrics: having(...metricsMethods),
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

export type OutboxMode =
  'singleNode' | 'multiNode' | 'singleWriter' | 'ordered' | 'partitioned' | 'writerOnly'

/** The modes that deliver. */
export type DeliveringMode = Exclude<OutboxMode, 'writerOnly'>

/** Refuses what does not fit, and what means nothing in this mode. */
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

/** A lock that is to be renewed before it is even acquired leaves no time for a delivery. */
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
