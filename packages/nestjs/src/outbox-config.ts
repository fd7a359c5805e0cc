import type { OutboxModeName } from './outbox-mode.ts'

/** A duration: milliseconds, or a text with a unit, such as `500ms`, `30s`, `5m`, `1h` or `7d`. */
export type ConfigDuration = number | string

/** A whole number, also as text. */
export type ConfigNumber = number | string

/** True or false, also as text. */
export type ConfigFlag = boolean | 'true' | 'false'

/**
 * The configuration of an outbox: its mode, and groups of settings. Names may also be in kebab-case, and
 * durations may leave out `Ms`: `claim-locking.lock-timeout`.
 */
export interface OutboxConfig {
  /** How processes share the work. Default: `SINGLE_NODE`. */
  readonly mode?: OutboxModeName
  /** Whether the start creates and updates the tables. Default: true. */
  readonly migrate?: ConfigFlag
  /** Whether the outbox starts with the application. Default: true. */
  readonly autoStart?: ConfigFlag
  /** Workers, queues, time limits. */
  readonly dispatcher?: DispatcherConfig
  /** When a failed event is tried again. */
  readonly retry?: RetryConfig
  /** How often and how much a process reads from the store. */
  readonly poller?: PollerConfig
  /** The leases of processes on rows. */
  readonly claimLocking?: ClaimLockingConfig
  /** Deletes old events. */
  readonly purge?: PurgeConfig
  /** Metrics for Prometheus. */
  readonly metrics?: MetricsConfig
  /** Thresholds of `health()`. */
  readonly health?: HealthConfig
  /** The lock of the mode `SINGLE_WRITER`. */
  readonly lock?: LockConfig
  /** The circuit breaker of the mode `SINGLE_WRITER`. */
  readonly circuitBreaker?: CircuitBreakerConfig
}

/** The group `dispatcher`. */
export interface DispatcherConfig {
  readonly workerCount?: ConfigNumber
  readonly hotQueueCapacity?: ConfigNumber
  readonly coldQueueCapacity?: ConfigNumber
  readonly hotShare?: ConfigNumber
  readonly maxAttempts?: ConfigNumber
  readonly maxLosses?: ConfigNumber
  readonly listenerTimeoutMs?: ConfigDuration
  readonly timeoutGraceMs?: ConfigDuration
  readonly drainTimeoutMs?: ConfigDuration
  readonly shutdownTimeoutMs?: ConfigDuration
  readonly onUnroutable?: 'dead' | 'defer'
  readonly unroutableDelayMs?: ConfigDuration
  readonly settleFirst?: ConfigFlag
  readonly deleteCompleted?: ConfigFlag
  /** Mode `PARTITIONED` only. */
  readonly onKeyFailure?: 'blockUntilDead' | 'block' | 'continue'
  /** Mode `ORDERED` only. */
  readonly onFailure?: 'dead' | 'retryForever'
}

/** The group `retry`: the policy of events whose listener has none. */
export interface RetryConfig {
  /** Default: `exponential`. */
  readonly policy?: 'exponential' | 'linear' | 'fixed'
  /** After the first failure; with `fixed` after every failure. */
  readonly baseDelayMs?: ConfigDuration
  /** Not with `fixed`. */
  readonly maxDelayMs?: ConfigDuration
  /** With `linear` only. */
  readonly stepMs?: ConfigDuration
  /** Not with `exponential`, which has its own. */
  readonly jitterMs?: ConfigDuration
}

/** The group `poller`. */
export interface PollerConfig {
  readonly enabled?: ConfigFlag
  readonly intervalMs?: ConfigDuration
  readonly busyIntervalMs?: ConfigDuration
  readonly batchSize?: ConfigNumber
  readonly maxBatchSize?: ConfigNumber
  readonly skipRecentMs?: ConfigDuration
}

/** The group `claimLocking`. */
export interface ClaimLockingConfig {
  /** Mode `MULTI_NODE` refuses false: two processes would deliver the same events. Default: true. */
  readonly enabled?: ConfigFlag
  /** How long a process keeps a row or a lock without renewing it: `leaseMs` of the outbox. */
  readonly lockTimeoutMs?: ConfigDuration
  /** A name for this process, shown on the rows it holds. */
  readonly ownerId?: string
}

/** The group `purge`. */
export interface PurgeConfig {
  /** Default: false. */
  readonly enabled?: ConfigFlag
  readonly retentionMs?: ConfigDuration
  readonly deadRetentionMs?: ConfigDuration
  readonly idempotencyRetentionMs?: ConfigDuration
  readonly batchSize?: ConfigNumber
  readonly intervalMs?: ConfigDuration
  /** Mode `WRITER_ONLY` only. */
  readonly ageMs?: ConfigDuration
}

/** The group `metrics`. */
export interface MetricsConfig {
  /** Whether metrics are exported to the registry, if there is one. Default: true. */
  readonly enabled?: ConfigFlag
  /** The beginning of every metric's name. Default: `outbox`. */
  readonly prefix?: string
  /** How many event types have a label of their own. All others are `other`. Default: 100. */
  readonly maxTypes?: ConfigNumber
}

/** The group `health`. */
export interface HealthConfig {
  readonly maxPollAgeMs?: ConfigDuration
  readonly maxLagMs?: ConfigDuration
  readonly maxDeadMs?: ConfigDuration
}

/** The group `lock`. */
export interface LockConfig {
  readonly name?: string
  readonly ttlMs?: ConfigDuration
  readonly renewMarginMs?: ConfigDuration
}

/** The group `circuitBreaker`. */
export interface CircuitBreakerConfig {
  /** Default: true. */
  readonly enabled?: ConfigFlag
  readonly failureRate?: number | string
  readonly minimumCalls?: ConfigNumber
  readonly windowMs?: ConfigDuration
  readonly coolDownMs?: ConfigDuration
  readonly trialCalls?: ConfigNumber
}
