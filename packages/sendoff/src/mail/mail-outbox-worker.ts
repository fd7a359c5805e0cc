import { type Clock, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { type Logger, loggerFrom } from '../observe/logger.ts'
import type { MetricsExporter } from '../observe/metrics.ts'
import {
  callable,
  checkOptions,
  count,
  duration,
  durationOrZero,
  having,
  type OptionCheck,
  requireOptions,
  text,
} from '../options.ts'
import { Outbox } from '../outbox.ts'
import { fallback } from '../process/fallback.ts'
import type { Processor } from '../process/processor.ts'
import type { RetryPolicy } from '../process/retry-policy.ts'
import { ListenerRegistry } from '../route/listener-registry.ts'
import type { OutboxStore } from '../store.ts'
import { MailSuppressedError } from './mail-errors.ts'
import { mailAggregate, MailOutbox } from './mail-outbox.ts'
import { mailRetries } from './mail-retries.ts'
import { MailSender, type Refusal } from './mail-sender.ts'
import type { MailTransport } from './mail-transport.ts'
import { RateLimit, type RateLimitOptions } from './rate-limit.ts'
import type { Suppressions } from './suppression-list.ts'

export interface MailOutboxWorkerOptions<Tx, StoreTx> {
  readonly outbox: MailOutbox<StoreTx, Tx, never>
  /** By provider. Mails that name none go to `default`. */
  readonly transports: Readonly<Record<string, MailTransport>>
  /** How fast mails are sent by this process, by provider; as fast as they can be where left out. */
  readonly rateLimits?: Readonly<Record<string, RateLimitOptions>>
  /** Who is not to get mail. */
  readonly suppressions?: Suppressions
  /** Told of every recipient that a server refused for good, such as to put it on the suppression list. */
  readonly onRefused?: (refusal: Refusal) => unknown
  /** How many mails are sent at once: 5, as many as a pool of nodemailer has connections. */
  readonly workerCount?: number
  /** How many mails are claimed at once: 50. */
  readonly batchSize?: number
  /** The longest pause between two looks at the table: 30 s. */
  readonly intervalMs?: number
  /** How long a mail stays with a process that does not renew its lease: 5 min. */
  readonly leaseMs?: number
  /** How long a transport may take for one mail: 2 min. */
  readonly sendTimeoutMs?: number
  /** 5 attempts, with waits of 1 min, 5 min, 15 min and 1 h. */
  readonly retryPolicy?: RetryPolicy
  /** Mails that were sent are removed so long after, with all they say; they are kept where left out. */
  readonly bodyRetentionMs?: number
  /** The same for FAILED mails. */
  readonly failedRetentionMs?: number
  /** Idempotency keys are kept for so long where mails are removed: 30 days, or `bodyRetentionMs` if that is longer. */
  readonly idempotencyRetentionMs?: number
  /** How long `close()` goes on with mails that it has claimed: 5 s. */
  readonly drainTimeoutMs?: number
  /** How long `close()` then waits for mails that are being sent: 30 s. */
  readonly shutdownTimeoutMs?: number
  /** A name for this process, shown on the mails it holds. A unique ending is added. */
  readonly ownerId?: string
  readonly metrics?: MetricsExporter
  /** Where faults are reported; `false` for nowhere. Warnings and errors go to standard error by default. */
  readonly logger?: Logger | false
  readonly clock?: Clock
}

const dayMs = 86_400_000
// As good as for ever, and within the times that databases know.
const centuryMs = 36_525 * dayMs

const byProvider =
  (check: OptionCheck, what: string): OptionCheck =>
  (value) =>
    having()(value) === undefined &&
    Object.values(value as object).every((item) => check(item) === undefined) &&
    Object.keys(value as object).length > 0
      ? undefined
      : `an object of ${what} by provider`

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
  drainTimeoutMs: durationOrZero,
  shutdownTimeoutMs: durationOrZero,
  ownerId: text,
  metrics: having('recordQueueDepths'),
  logger: (value) => (value === false ? undefined : having('debug', 'info', 'warn', 'error')(value)),
  clock: having('now', 'monotonic', 'schedule'),
}

/**
 * Sends the mails of a mail outbox, together with all other workers of its table. It looks every 30 s, and is woken when a mail
 * was committed.
 *
 * It is `Outbox.multiNode` on the mail outbox's store, with a listener for each provider.
 */
export class MailOutboxWorker<StoreTx, Tx = StoreTx> {
  readonly #options: MailOutboxWorkerOptions<Tx, StoreTx>
  readonly #outbox: Outbox<Tx, StoreTx>
  #stopListening: (() => void) | undefined

  constructor(options: MailOutboxWorkerOptions<Tx, StoreTx>) {
    checkOptions('MailOutboxWorker', options, checks)
    requireOptions('MailOutboxWorker', options, ['outbox', 'transports'])
    const { batchSize = 50, intervalMs = 30_000, sendTimeoutMs = 120_000 } = options
    this.#options = options
    this.#outbox = Outbox.multiNode<StoreTx, Tx>({
      store: keptOpen(options.outbox.store),
      listeners: this.#listeners(sendTimeoutMs),
      workerCount: options.workerCount ?? 5,
      leaseMs: options.leaseMs ?? 300_000,
      // The sender keeps the time itself, and then knows whom it has reached.
      listenerTimeoutMs: 2 * sendTimeoutMs,
      retryPolicy: options.retryPolicy ?? mailRetries(),
      processors: { fallback: sentInPart },
      poller: { intervalMs, batchSize, maxBatchSize: batchSize },
      ...purgeOf(options),
      ...given(options, ['drainTimeoutMs', 'shutdownTimeoutMs', 'ownerId', 'metrics', 'logger', 'clock']),
    })
  }

  /** Brings the schema up to date and begins to send. */
  async start(): Promise<this> {
    await this.#outbox.start()
    this.#stopListening = this.#options.outbox.onEnqueued((inMs) => this.#outbox.wake(inMs))
    return this
  }

  /** Resolves when nothing that is due is left to be sent here. */
  drain(): Promise<void> {
    return this.#outbox.drain()
  }

  /** Stops sending by a provider, on every process. Its mails stay where they are. */
  pause(provider: string): Promise<void> {
    return this.#outbox.pause({ eventType: provider })
  }

  resume(provider: string): Promise<void> {
    return this.#outbox.resume({ eventType: provider })
  }

  /** Takes no more mails, sends those in hand within its time limits, and hands all others back at once. The mail outbox stays open. */
  close(): Promise<void> {
    this.#stopListening?.()
    return this.#outbox.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #listeners(sendTimeoutMs: number): ListenerRegistry {
    const {
      outbox,
      transports,
      rateLimits = {},
      clock = systemClock,
      suppressions,
      onRefused,
    } = this.#options
    const logger = loggerFrom(this.#options.logger)
    const listeners = new ListenerRegistry()
    for (const [provider, transport] of Object.entries(transports)) {
      const limit = Object.hasOwn(rateLimits, provider) ? rateLimits[provider] : undefined
      const rateLimit = limit && new RateLimit(provider, limit, clock)
      const sender = new MailSender({
        outbox,
        transport,
        rateLimit,
        suppressions,
        sendTimeoutMs,
        onRefused,
        logger,
      })
      listeners.register(mailAggregate, provider, sender)
    }
    return listeners
  }
}

// Who was left out is kept in the history; for everybody else the mail is sent.
const sentInPart: Processor = {
  process(failed) {
    const { error, counted } = failed
    if (!(error instanceof MailSuppressedError)) return fallback.process(failed)
    return { kind: 'done', failure: { error: describeError(error), counted } }
  },
}

// It belongs to the mail outbox, which goes on without this worker.
function keptOpen<Tx>(store: OutboxStore<Tx>): OutboxStore<Tx> {
  const close = async () => {}
  return new Proxy(store, {
    get: (target, name) => (name === 'close' ? close : (Reflect.get(target, name) as unknown)),
  })
}

function purgeOf(
  options: Pick<
    MailOutboxWorkerOptions<never, never>,
    'bodyRetentionMs' | 'failedRetentionMs' | 'idempotencyRetentionMs'
  >,
) {
  const { bodyRetentionMs, failedRetentionMs, idempotencyRetentionMs } = options
  if (bodyRetentionMs === undefined && failedRetentionMs === undefined) return {}
  return {
    purge: {
      retentionMs: bodyRetentionMs ?? centuryMs,
      idempotencyRetentionMs: idempotencyRetentionMs ?? Math.max(30 * dayMs, bodyRetentionMs ?? 0),
      ...(failedRetentionMs !== undefined && { deadRetentionMs: failedRetentionMs }),
    },
  }
}

function given<Options extends object, Name extends keyof Options>(
  options: Options,
  names: readonly Name[],
): Partial<Pick<Options, Name>> {
  return Object.fromEntries(
    names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  ) as Partial<Pick<Options, Name>>
}
