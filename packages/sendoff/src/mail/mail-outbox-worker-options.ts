import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/logger.ts'
import { type MetricsExporter, metricsMethods } from '../observe/metrics.ts'
import {
  callable,
  checkOptions,
  count,
  duration,
  durationOrZero,
  flag,
  having,
  loggerOrFalse,
  type OptionCheck,
  requireOptions,
  text,
} from '../options.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import { MailOutbox } from './mail-outbox.ts'
import type { Refusal } from './mail-sender.ts'
import type { MailTransport } from './mail-transport.ts'
import type { RateLimitOptions } from './rate-limit.ts'
import type { Suppressions } from './suppression-list.ts'

/** Options of `MailOutboxWorker`. */
export interface MailOutboxWorkerOptions<Tx, StoreTx> {
  /** The mail outbox that holds the mails to send. */
  readonly outbox: MailOutbox<Tx, StoreTx, never>
  /** Transports by provider. Mails that name no provider use `default`. */
  readonly transports: Readonly<Record<string, MailTransport>>
  /** How fast this process sends mails, by provider; without a limit by default. */
  readonly rateLimits?: Readonly<Record<string, RateLimitOptions>>
  /** Addresses that get no mail; none by default. */
  readonly suppressions?: Suppressions
  /**
   * Called for every recipient whose address a server refused for good, such as to put it on the suppression
   * list.
   */
  readonly onRefused?: (refusal: Refusal) => unknown
  /** How many mails are sent at once: 5 by default, as many as a nodemailer pool has connections. */
  readonly workerCount?: number
  /** How many mails are claimed at once: 50 by default. */
  readonly batchSize?: number
  /** Longest pause between two polls of the table, in ms: 30 s by default. */
  readonly intervalMs?: number
  /** How long a mail stays with a process that does not renew its lease, in ms: 5 min by default. */
  readonly leaseMs?: number
  /**
   * How long a transport may take for one mail, in ms: 10 min by default, as long as a server may take to
   * accept one.
   */
  readonly sendTimeoutMs?: number
  /** When failed mails are tried again; by default 5 attempts, with waits of 1 min, 5 min, 15 min and 1 h. */
  readonly retryPolicy?: RetryPolicy
  /**
   * How long sent mails are kept, in ms, before the purge removes them with their texts; for ever by default.
   * The purge interval is a tenth of that time, but at least a minute and at most an hour.
   */
  readonly bodyRetentionMs?: number
  /** How long FAILED mails are kept, in ms; for ever by default. */
  readonly failedRetentionMs?: number
  /**
   * How long idempotency keys are kept if mails are removed, in ms: 30 days by default, or `bodyRetentionMs`
   * if that is longer.
   */
  readonly idempotencyRetentionMs?: number
  /**
   * Whether `start()` creates and updates the tables: true by default. With false it only checks that they
   * exist and are current.
   */
  readonly migrate?: boolean
  /** How long `close()` still begins mails that it has claimed, in ms: 5 s by default. */
  readonly drainTimeoutMs?: number
  /** How long `close()` then waits for mails that are being sent, in ms: 15 s by default. */
  readonly shutdownTimeoutMs?: number
  /** Name of this process, shown on the mails it holds. A unique ending is added. */
  readonly ownerId?: string
  /** Counts deliveries and outcomes: none. */
  readonly metrics?: MetricsExporter
  /** Receives reports of faults; `false` for none. By default warnings and errors go to standard error. */
  readonly logger?: Logger | false
  /** The time of the worker: the clock of the machine. */
  readonly clock?: Clock
}

const byProvider =
  (check: OptionCheck, what: string): OptionCheck =>
  (value) =>
    having()(value) === undefined &&
    Object.values(value as object).every((item) => check(item) === undefined) &&
    Object.keys(value as object).length > 0
      ? undefined
      : `an object of ${what} by provider`

/** Defaults of `MailOutboxWorker`. */
export const mailWorkerDefaults = {
  workerCount: 5,
  batchSize: 50,
  intervalMs: 30_000,
  leaseMs: 300_000,
  sendTimeoutMs: 600_000,
  // Applies if the purge removes mails. If it keeps mails for longer, it keeps their keys as long.
  idempotencyRetentionMs: 30 * 86_400_000,
}

const checks: Readonly<Record<keyof MailOutboxWorkerOptions<never, never>, OptionCheck>> = {
  outbox: (value) => (value instanceof MailOutbox ? undefined : 'a MailOutbox'),
  transports: byProvider(having('send'), 'transports'),
  rateLimits: byProvider(having(), 'rate limits'),
  suppressions: having('find'),
  onRefused: callable,
  workerCount: count,
  batchSize: count,
  intervalMs: duration,
  leaseMs: duration,
  sendTimeoutMs: duration,
  retryPolicy: having('computeDelayMs'),
  bodyRetentionMs: duration,
  failedRetentionMs: duration,
  idempotencyRetentionMs: duration,
  migrate: flag,
  drainTimeoutMs: durationOrZero,
  shutdownTimeoutMs: durationOrZero,
  ownerId: text,
  metrics: having(...metricsMethods),
  logger: loggerOrFalse,
  clock: having('now', 'monotonic', 'schedule'),
}

/** Throws `OUTBOX_INVALID_OPTION` for invalid options of a `MailOutboxWorker`. */
export function checkMailOutboxWorkerOptions(options: object): void {
  checkOptions('MailOutboxWorker', options, checks)
  requireOptions('MailOutboxWorker', options, ['outbox', 'transports'])
}
