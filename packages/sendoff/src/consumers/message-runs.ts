import { type Clock, delay, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { FailureReports } from '../dispatch/failure-reports.ts'
import { durationText } from '../duration-text.ts'
import { OutboxError, RetryAfterError, UnrecoverableError } from '../errors.ts'
import { type Logger, loggerFrom } from '../observe/logger.ts'
import { exponentialBackoff } from '../retry/exponential-backoff.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import { acceptedEvent } from './accepted-event.ts'
import { type ConsumedMessage, consumedMessage, nameOf, tracedHeaders } from './consumed-message.ts'
import {
  consumerDefaults,
  type ConsumerOptions,
  type ConsumerProcessOptions,
  defaultMaxAttempts,
} from './consumer-options.ts'
import { FailureCounts } from './failure-counts.ts'
import type { IncomingMessage } from './incoming-message.ts'
import { Places } from './places.ts'

/**
 * What became of a message at one run.
 *
 * - `done`: its effects are committed, now or before. Acknowledge it.
 * - `dropped`: it is invalid, and the options say to go on without it. Acknowledge or reject it.
 * - `left`: the consumer is closing and has not begun it. Leave it to the broker.
 * - a delay: try it again after that. `busy` and faults of the database are among these.
 */
export type RunResult =
  'done' | 'dropped' | 'left' | { readonly retryAfterMs: number; readonly why: RetryReason }

/** Why a message has to be tried again. */
export type RetryReason = 'failed' | 'invalid' | 'busy' | 'unavailable'

/** Faults that say that no event can be made of a message, however often it is tried. */
const invalidCodes: ReadonlySet<string> = new Set([
  'OUTBOX_INVALID_EVENT',
  'OUTBOX_INVALID_MESSAGE',
  'OUTBOX_INVALID_PAYLOAD',
  'OUTBOX_PAYLOAD_NOT_SERIALIZABLE',
  'OUTBOX_PAYLOAD_TOO_DEEP',
  'OUTBOX_PAYLOAD_TOO_LARGE',
  'OUTBOX_PAYLOAD_UNREADABLE',
])

/**
 * The core of every consumer: runs messages through the inbox, a limited number at a time, and decides what
 * becomes of each. It knows no broker.
 *
 * A message counts as failed only if its handler has thrown. If the database cannot be reached, or another
 * consumer holds the message, it waits and no attempt is counted.
 */
export class MessageRuns {
  readonly clock: Clock = systemClock
  readonly logger: Logger
  readonly reports: FailureReports
  /** The name of the broker, for the log. */
  readonly name: string
  readonly #options: ConsumerOptions<never>
  readonly #places: Places
  readonly #failures = new FailureCounts()
  readonly #retry: RetryPolicy
  readonly #closing = new AbortController()
  readonly #givenUp = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  #faultsInARow = 0

  static of<Tx>(name: string, options: ConsumerOptions<Tx>): MessageRuns {
    return new MessageRuns(name, options as unknown as ConsumerOptions<never>)
  }

  private constructor(name: string, options: ConsumerOptions<never>) {
    this.name = name
    this.#options = options
    this.#places = new Places(options.concurrency ?? consumerDefaults.concurrency)
    this.#retry = options.retry ?? exponentialBackoff({ maxDelayMs: 30_000 })
    this.logger = loggerFrom(options.logger)
    this.reports = new FailureReports(this.clock, this.logger)
  }

  /** Aborts when the consumer begins to close. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Runs a message once. Never rejects. */
  async run(incoming: IncomingMessage): Promise<RunResult> {
    await this.#places.take()
    try {
      if (this.closing.aborted) return 'left'
      return await this.#tracked(this.#attempt(incoming))
    } finally {
      this.#places.leave()
    }
  }

  /** Runs a message until it needs no other attempt, or `signal` aborts. Returns false if it was left. */
  async runUntilDone(incoming: IncomingMessage, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const result = await this.run(incoming)
      if (result === 'left') return false
      if (typeof result === 'string') return true
      await this.wait(result.retryAfterMs, signal)
    }
    return false
  }

  /** Waits until the time is over or the signal aborts. By default, that is when the consumer closes. */
  wait(ms: number, signal: AbortSignal = this.closing): Promise<void> {
    return delay(this.clock, ms, signal)
  }

  /** Begins to close: messages that have not begun are left, and waits end. */
  beginClose(): void {
    this.#closing.abort()
    this.#places.dismiss()
  }

  /** Waits for the messages that run, no longer than the time limit. Then tells their handlers to stop. */
  async settled(): Promise<void> {
    const { closeTimeoutMs = consumerDefaults.closeTimeoutMs } = this.#options
    const over = new AbortController()
    const all = Promise.allSettled([...this.#running]).then(() => over.abort())
    await Promise.race([all, delay(this.clock, closeTimeoutMs, over.signal)])
    if (this.#running.size > 0) {
      this.logger.warn(
        `${this.name}: ${this.#running.size} handlers still ran ${durationText(closeTimeoutMs)} after the ` +
          'consumer began to close. Their messages are not acknowledged and will come again.',
      )
    }
    this.#givenUp.abort()
    this.reports.flush()
  }

  async #tracked<Result>(work: Promise<Result>): Promise<Result> {
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }

  async #attempt(incoming: IncomingMessage): Promise<RunResult> {
    let message: ConsumedMessage
    try {
      message = consumedMessage(incoming, this.#options.messageId)
    } catch (error) {
      return await this.#invalid(incoming, error)
    }
    const run = new InboxRun(this.#options, message, this.#failures.of(message.id), this.#givenUp.signal)
    const isLost = this.#isGivenUp(this.#failures.of(message.id), undefined)
    try {
      const outcome = isLost ? await run.handOver() : await run.process()
      return this.#ended(outcome, message)
    } catch (error) {
      if (!isLost && run.hasFailed) return await this.#failed(incoming, run, message, error)
      return await this.#notRun(incoming, error)
    }
  }

  #ended(outcome: string, { id }: ConsumedMessage): RunResult {
    this.#available()
    if (outcome === 'busy') return { retryAfterMs: this.#retry.computeDelayMs(1), why: 'busy' }
    this.#failures.forget(id)
    return 'done'
  }

  /** The handler has thrown. */
  async #failed(
    incoming: IncomingMessage,
    run: InboxRun,
    message: ConsumedMessage,
    error: unknown,
  ): Promise<RunResult> {
    const failures = this.#failures.add(message.id)
    const failed = `${nameOf(incoming)} (id ${message.id}) failed at attempt ${failures}`
    const why = describeError(error)
    if (this.#isGivenUp(failures, error)) {
      try {
        const result = this.#ended(await run.handOver(), message)
        this.#tell('warn', 'messages failed and became events', `${failed} and became an event: ${why}`)
        return result
      } catch (fault) {
        return await this.#notRun(incoming, fault)
      }
    }
    const retryAfterMs =
      error instanceof RetryAfterError ? error.retryAfterMs : this.#retry.computeDelayMs(failures)
    this.#tell('warn', 'messages failed', `${failed}, next in ${durationText(retryAfterMs)}: ${why}`)
    return { retryAfterMs, why: 'failed' }
  }

  /** The inbox failed before the handler began, or when it committed, or made no event of the message. */
  async #notRun(incoming: IncomingMessage, error: unknown): Promise<RunResult> {
    if (error instanceof OutboxError && invalidCodes.has(error.code))
      return await this.#invalid(incoming, error)
    this.#faultsInARow += 1
    if (this.#faultsInARow === 1) {
      this.logger.warn(
        `${this.name}: the inbox cannot process messages; they wait and no attempt is counted. ${describeError(error)}`,
      )
    }
    return { retryAfterMs: faultDelays.computeDelayMs(this.#faultsInARow), why: 'unavailable' }
  }

  #available(): void {
    if (this.#faultsInARow > 0) this.logger.warn(`${this.name}: the inbox processes messages again.`)
    this.#faultsInARow = 0
  }

  async #invalid(incoming: IncomingMessage, error: unknown): Promise<RunResult> {
    const { onInvalid = consumerDefaults.onInvalid } = this.#options
    const why = describeError(error)
    try {
      if (typeof onInvalid === 'function') await onInvalid(incoming, error)
    } catch (fault) {
      this.#tell('error', 'calls of "onInvalid" failed', `"onInvalid" failed: ${describeError(fault)}`)
      return { retryAfterMs: this.#retry.computeDelayMs(invalidFailures), why: 'invalid' }
    }
    if (onInvalid === 'retry') {
      this.#tell('error', 'invalid messages wait', `${why} The message stays and is tried again.`)
      return { retryAfterMs: this.#retry.computeDelayMs(invalidFailures), why: 'invalid' }
    }
    if (onInvalid === 'drop') this.#tell('error', 'invalid messages were dropped', `${why} It was dropped.`)
    return 'dropped'
  }

  #isGivenUp(failures: number, error: unknown): boolean {
    if (this.#options.accept === undefined || this.#options.handler === undefined) return false
    if (failures >= (this.#retry.maxAttempts ?? defaultMaxAttempts)) return true
    if (error === undefined) return false
    return error instanceof UnrecoverableError || this.#retry.shouldRetry?.(error) === false
  }

  #tell(level: 'warn' | 'error', what: string, line: string): void {
    this.reports.tell(level, `${this.name}: ${what}`, () => [`${this.name}: ${line}`, {}])
  }
}

/** Waits while the database cannot be reached. */
const faultDelays = exponentialBackoff({ baseDelayMs: 200, maxDelayMs: 5_000 })

/** An invalid message stays invalid until a new version knows it, so it waits as one that failed often. */
const invalidFailures = 10

/** One run of a message through the inbox. */
class InboxRun {
  readonly #options: ConsumerOptions<never>
  readonly #message: ConsumedMessage
  readonly #failures: number
  readonly #signal: AbortSignal
  #isInHandler = false

  constructor(
    options: ConsumerOptions<never>,
    message: ConsumedMessage,
    failures: number,
    signal: AbortSignal,
  ) {
    this.#options = options
    this.#message = message
    this.#failures = failures
    this.#signal = signal
  }

  /** Whether the handler itself has thrown. */
  get hasFailed(): boolean {
    return this.#isInHandler
  }

  async process(): Promise<string> {
    const { inbox, handler } = this.#options
    if (handler === undefined) return await this.#accept()
    const message = this.#message
    const run = async (tx: never): Promise<void> => {
      this.#isInHandler = true
      await handler(message, tx, { attempt: this.#failures + 1, signal: this.#signal })
      this.#isInHandler = false
    }
    return await inbox.process(message.id, run, this.#inboxOptions)
  }

  /**
   * Makes the message an event instead of running its handler. The mark is in the same transaction, so that
   * the handler never runs for a message that comes again.
   */
  handOver(): Promise<string> {
    return this.#options.inbox.process(this.#message.id, () => this.#accept(), this.#inboxOptions)
  }

  get #inboxOptions(): ConsumerProcessOptions {
    return { wait: false, headers: tracedHeaders(this.#message), type: this.#message.type }
  }

  async #accept(): Promise<string> {
    const { inbox, accept } = this.#options
    const event = typeof accept === 'function' ? accept(this.#message) : acceptedEvent(this.#message)
    const { outcome } = await inbox.accept({ ...event, id: this.#message.id })
    return outcome
  }
}
