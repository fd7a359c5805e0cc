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
  /** By provider. Mails that name none go to `default`. */
  readonly transports: Readonly<Record<string, MailTransport>>
  /** How fast mails are sent by this process, by provider; as fast as they can be where left out. */
  readonly rateLimits?: Readonly<Record<string, RateLimitOptions>>
  /** Who is not to get mail. */
  readonly suppressions?: Suppressions
  /** Told of every recipient whose address a server refused for good, such as to put it on the suppression list. */
  readonly onRefused?: (refusal: Refusal) => unknown
  /** How many mails are sent at once: 5, as many as a pool of nodemailer has connections. */
  readonly workerCount?: number
  /** How many mails are claimed at once: 50. */
  readonly batchSize?: number
  /** The longest pause between two looks at the table: 30 s. */
  readonly intervalMs?: number
  /** How long a mail stays with a process that does not renew its lease: 5 min. */
  readonly leaseMs?: number
  /** How long a transport may take for one mail: 10 min, as long as a server may take to accept one. */
  readonly sendTimeoutMs?: number
  /** 5 attempts, with waits of 1 min, 5 min, 15 min and 1 h. */
  readonly retryPolicy?: RetryPolicy
  /**
   * Mails that were sent are removed so long after, with all they say; they are kept where left out. The purge runs after a tenth of
   * that time, at least every hour and at most every minute.
   */
  readonly bodyRetentionMs?: number
  /** The same for FAILED mails. */
  readonly failedRetentionMs?: number
  /** Idempotency keys are kept for so long where mails are removed: 30 days, or `bodyRetentionMs` if that is longer. */
  readonly idempotencyRetentionMs?: number
  /** Whether `start()` creates and updates the tables: true. With false it only checks that they are there and current. */
  readonly migrate?: boolean
  /** How long `close()` goes on with mails that it has claimed: 5 s. */
  readonly drainTimeoutMs?: number
  /** How long `close()` then waits for mails that are being sent: 15 s. */
  readonly shutdownTimeoutMs?: number
  /** A name for this process, shown on the mails it holds. A unique ending is added. */
  readonly ownerId?: string
  /** Counts deliveries and outcomes: none. */
  readonly metrics?: MetricsExporter
  /** Where faults are reported; `false` for nowhere. Warnings and errors go to standard error by default. */
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

/** The value of each option of a `MailOutboxWorker` that is left out. */
export const mailWorkerDefaults = {
  workerCount: 5,
  batchSize: 50,
  intervalMs: 30_000,
  leaseMs: 300_000,
  sendTimeoutMs: 600_000,
  // Where mails are removed; mails that are kept for longer keep their keys for as long.
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
  logger: (value) => (value === false ? undefined : having('debug', 'info', 'warn', 'error')(value)),
  clock: having('now', 'monotonic', 'schedule'),
}

export function checkMailOutboxWorkerOptions(options: object): void {
  checkOptions('MailOutboxWorker', options, checks)
  requireOptions('MailOutboxWorker', options, ['outbox', 'transports'])
}
