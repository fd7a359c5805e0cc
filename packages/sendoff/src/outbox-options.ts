import type { Clock } from './clock.ts'
import type { JsonCodec } from './event/json-codec.ts'
import type { Logger } from './observe/logger.ts'
import type { MetricsExporter } from './observe/metrics.ts'
import {
  checkOptions,
  count,
  duration,
  durationOrZero,
  flag,
  having,
  oneOf,
  requireOptions,
  text,
} from './options.ts'
import { exponentialBackoff } from './process/exponential-backoff.ts'
import type { RetryPolicy } from './process/retry-policy.ts'
import { ListenerRegistry } from './route/listener-registry.ts'
import type { OutboxStore } from './store.ts'
import type { Transactions } from './transactions.ts'
import type { WriterHook } from './write/writer-hook.ts'

export interface OutboxOptions<Tx, StoreTx> extends Partial<Omit<OutboxSettings, 'poller'>> {
  readonly store: OutboxStore<StoreTx>
  readonly listeners: ListenerRegistry
  /** Transactions of an ORM or a driver; the store's own where left out. */
  readonly transactions?: Transactions<Tx, StoreTx>
  readonly poller?: Partial<PollerSettings>
  readonly writerHook?: WriterHook
  readonly codec?: JsonCodec
  /** Where faults are reported; `false` for nowhere. Warnings and errors go to standard error by default. */
  readonly logger?: Logger | false
  readonly metrics?: MetricsExporter
  /** A name for this process, shown on the events it holds. A unique ending is added. */
  readonly ownerId?: string
  readonly clock?: Clock
}

/** What can be tuned, with defaults that suit most. */
export interface OutboxSettings {
  /** How many listeners run at once: 4. */
  readonly workerCount: number
  /** 1000. */
  readonly hotQueueCapacity: number
  /** 1000. */
  readonly coldQueueCapacity: number
  /** Turns of the hot queue for each turn of the cold one: 2. */
  readonly hotShare: number
  /** Attempts at an event before it is DEAD: 10. */
  readonly maxAttempts: number
  /** Exponential, from 200 ms to 60 s. */
  readonly retryPolicy: RetryPolicy
  /** How many processes in a row an event may take down before it is DEAD: 20. */
  readonly maxDeliveries: number
  /** How long an event stays with a process that does not renew its lease: 30 s. */
  readonly leaseMs: number
  /** How long a listener may take, where its registration does not say: 5 min. */
  readonly listenerTimeoutMs: number
  /** What becomes of an event that nobody here listens for: `'dead'`. With `'defer'` it waits. */
  readonly onUnroutable: 'dead' | 'defer'
  /** How long such an event waits before it is looked at again: 60 s. */
  readonly unroutableDelayMs: number
  /** How long `close()` goes on with queued events: 5 s. */
  readonly drainTimeoutMs: number
  /** How long `close()` waits for running listeners: 30 s. */
  readonly shutdownTimeoutMs: number
  readonly poller: PollerSettings
}

export interface PollerSettings {
  readonly enabled: boolean
  /** The longest pause between two looks: 5 s. */
  readonly intervalMs: number
  /** 50, doubled while batches come back full, up to `maxBatchSize`. */
  readonly batchSize: number
  /** 500. */
  readonly maxBatchSize: number
  /** Leaves events alone that were written less than so long ago: 0. */
  readonly skipRecentMs: number
}

export function withDefaults<Tx, StoreTx>(options: OutboxOptions<Tx, StoreTx>): OutboxSettings {
  return {
    workerCount: options.workerCount ?? 4,
    hotQueueCapacity: options.hotQueueCapacity ?? 1_000,
    coldQueueCapacity: options.coldQueueCapacity ?? 1_000,
    hotShare: options.hotShare ?? 2,
    maxAttempts: options.maxAttempts ?? 10,
    retryPolicy: options.retryPolicy ?? exponentialBackoff(),
    maxDeliveries: options.maxDeliveries ?? 20,
    leaseMs: options.leaseMs ?? 30_000,
    listenerTimeoutMs: options.listenerTimeoutMs ?? 300_000,
    onUnroutable: options.onUnroutable ?? 'dead',
    unroutableDelayMs: options.unroutableDelayMs ?? 60_000,
    drainTimeoutMs: options.drainTimeoutMs ?? 5_000,
    shutdownTimeoutMs: options.shutdownTimeoutMs ?? 30_000,
    poller: {
      enabled: options.poller?.enabled ?? true,
      intervalMs: options.poller?.intervalMs ?? 5_000,
      batchSize: options.poller?.batchSize ?? 50,
      maxBatchSize: Math.max(options.poller?.maxBatchSize ?? 500, options.poller?.batchSize ?? 50),
      skipRecentMs: options.poller?.skipRecentMs ?? 0,
    },
  }
}

export function checkOutboxOptions<Tx, StoreTx>(what: string, options: OutboxOptions<Tx, StoreTx>): void {
  checkOptions(what, options, {
    store: having('claim', 'insert', 'settle', 'transaction'),
    listeners: (value) => (value instanceof ListenerRegistry ? undefined : 'a ListenerRegistry'),
    transactions: having('transaction', 'storeTx'),
    poller: having(),
    writerHook: having(),
    codec: having('toJson', 'fromJson'),
    logger: (value) => (value === false ? undefined : having('debug', 'info', 'warn', 'error')(value)),
    metrics: having('recordQueueDepths'),
    ownerId: text,
    clock: having('monotonic', 'schedule'),
    workerCount: count,
    hotQueueCapacity: count,
    coldQueueCapacity: count,
    hotShare: count,
    maxAttempts: count,
    retryPolicy: having('computeDelayMs'),
    maxDeliveries: count,
    leaseMs: duration,
    listenerTimeoutMs: duration,
    onUnroutable: oneOf('dead', 'defer'),
    unroutableDelayMs: duration,
    drainTimeoutMs: durationOrZero,
    shutdownTimeoutMs: durationOrZero,
  })
  requireOptions(what, options, ['store', 'listeners'])
  checkOptions(`the poller of ${what}`, options.poller ?? {}, {
    enabled: flag,
    intervalMs: duration,
    batchSize: count,
    maxBatchSize: count,
    skipRecentMs: durationOrZero,
  })
}
