import { systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { OutboxHealth } from '../observe/health.ts'
import { loggerFrom } from '../observe/logger.ts'
import { Outbox } from '../outbox/outbox.ts'
import type { Processor } from '../process/processor.ts'
import { ListenerRegistry } from '../route/listener-registry.ts'
import type { OutboxStore } from '../store/index.ts'
import { Availability } from './availability.ts'
import { MailSuppressedError } from './mail-errors.ts'
import { mailAggregate } from './mail-event.ts'
import {
  checkMailOutboxWorkerOptions,
  type MailOutboxWorkerOptions,
  mailWorkerDefaults,
} from './mail-outbox-worker-options.ts'
import { mailRetries } from './mail-retries.ts'
import { MailSender } from './mail-sender.ts'
import { RateLimit } from './rate-limit.ts'

const dayMs = 86_400_000
// Practically for ever, but within the range of times that databases support.
const centuryMs = 36_525 * dayMs

// How long a mail waits if this worker does not have its transport.
const unroutableDelayMs = 10_000
const longestPurgeIntervalMs = dayMs / 24
const shortestPurgeIntervalMs = 60_000

/**
 * Sends the mails of a mail outbox, together with all other workers of its table. It polls every 30 s, and
 * wakes up when a mail is committed.
 *
 * It is `Outbox.multiNode` on the mail outbox's store, with a listener for each provider.
 */
export class MailOutboxWorker<Tx, StoreTx = Tx> {
  readonly #options: MailOutboxWorkerOptions<Tx, StoreTx>
  readonly #outbox: Outbox<Tx, StoreTx>
  readonly #rateLimits: RateLimit[] = []
  #stopListening: (() => void) | undefined

  constructor(options: MailOutboxWorkerOptions<Tx, StoreTx>) {
    checkMailOutboxWorkerOptions(options)
    const {
      batchSize = mailWorkerDefaults.batchSize,
      intervalMs = mailWorkerDefaults.intervalMs,
      sendTimeoutMs = mailWorkerDefaults.sendTimeoutMs,
    } = options
    this.#options = options
    this.#outbox = Outbox.multiNode<StoreTx, Tx>({
      store: keptOpen(options.outbox.store),
      listeners: this.#listeners(sendTimeoutMs),
      workerCount: options.workerCount ?? mailWorkerDefaults.workerCount,
      // No other process can send the mails that this one has claimed.
      coldQueueCapacity: batchSize,
      leaseMs: options.leaseMs ?? mailWorkerDefaults.leaseMs,
      // After a crash, mails that were accepted but not yet marked are sent again: at most one per place of a
      // worker.
      settleFirst: true,
      // Other workers may have the transport, such as during a rollout.
      onUnroutable: 'defer',
      unroutableDelayMs,
      // The sender limits verifying and sending itself, so that it knows which recipients it has reached.
      listenerTimeoutMs: 3 * sendTimeoutMs,
      retryPolicy: options.retryPolicy ?? mailRetries(),
      processors: { fallback: sentInPart },
      poller: { intervalMs, batchSize, maxBatchSize: batchSize },
      ...purgeOf(options),
      ...given(options, [
        'migrate',
        'drainTimeoutMs',
        'shutdownTimeoutMs',
        'ownerId',
        'metrics',
        'logger',
        'clock',
      ]),
    })
  }

  /** Brings the schema up to date and begins to send. */
  async start(): Promise<this> {
    await this.#outbox.start()
    this.#stopListening = this.#options.outbox.onEnqueued((inMs) => this.#outbox.wake(inMs))
    return this
  }

  /** Resolves when no due mail is left to be sent here. */
  drain(): Promise<void> {
    return this.#outbox.drain()
  }

  /** Returns whether this worker is live and ready, and what it does. */
  health(): Promise<OutboxHealth> {
    return this.#outbox.health()
  }

  /** Pauses a provider in every process. Its mails stay in the table. */
  pause(provider: string): Promise<void> {
    return this.#outbox.pause({ eventType: provider })
  }

  resume(provider: string): Promise<void> {
    return this.#outbox.resume({ eventType: provider })
  }

  /**
   * Claims no more mails, sends the mails that it holds within its time limits, and hands back all others at
   * once. The mail outbox stays open.
   */
  close(): Promise<void> {
    this.#stopListening?.()
    this.#rateLimits.forEach((limit) => limit.stop())
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
    const suppressionsAvailability = new Availability({ name: 'The suppression list', clock, logger })
    const listeners = new ListenerRegistry()
    for (const [provider, transport] of Object.entries(transports)) {
      const limit = Object.hasOwn(rateLimits, provider) ? rateLimits[provider] : undefined
      const rateLimit = limit && new RateLimit(provider, limit, { clock, wake: () => this.#outbox.wake() })
      if (rateLimit !== undefined) this.#rateLimits.push(rateLimit)
      const sender = new MailSender({
        outbox,
        transport,
        transportAvailability: new Availability({
          name: `The transport of "${provider}" (${transport.name})`,
          clock,
          logger,
        }),
        rateLimit,
        suppressions,
        suppressionsAvailability,
        sendTimeoutMs,
        onRefused,
        logger,
      })
      listeners.register(mailAggregate, provider, sender)
    }
    return listeners
  }
}

// The history keeps the recipients that were left out. All others got the mail.
const sentInPart: Processor = {
  process(failed) {
    const { error, counted } = failed
    if (!(error instanceof MailSuppressedError)) return failed
    return { kind: 'done', failure: { error: describeError(error), counted } }
  },
}

// The store belongs to the mail outbox, which stays open without this worker.
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
  const shortestMs = Math.min(bodyRetentionMs ?? Infinity, failedRetentionMs ?? Infinity)
  return {
    purge: {
      retentionMs: bodyRetentionMs ?? centuryMs,
      intervalMs: Math.min(longestPurgeIntervalMs, Math.max(shortestPurgeIntervalMs, shortestMs / 10)),
      idempotencyRetentionMs:
        idempotencyRetentionMs ?? Math.max(mailWorkerDefaults.idempotencyRetentionMs, bodyRetentionMs ?? 0),
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
