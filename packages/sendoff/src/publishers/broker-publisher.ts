import { Answers } from '../answers.ts'
import { describeError } from '../describe-error.ts'
import { RecoverableError, UnrecoverableError } from '../errors.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import { loggerFrom } from '../observe/logger.ts'
import type { PublishAnswer, Publisher } from '../publisher.ts'
import { type Attempt, Outages } from './outages.ts'
import { publisherDefaults, type PublisherOptions } from './publisher-options.ts'
import { silenceOf } from './silence.ts'

/** The part of a publisher that is particular to one kind of broker. */
export interface Broker<Message> {
  /** Name for the log, such as `Kafka`. */
  readonly name: string
  /** Makes the message for an event. An error that it throws is a failed attempt at that event. */
  message(event: EventEnvelope): Message
  /** Returns where a message goes, if a part of the broker can be away alone. */
  destination?(message: Message): string
  /**
   * Sends messages, waits for replies through `answers`, and resolves with the result of each. If it throws,
   * all have failed.
   */
  send(
    letters: readonly Letter<Message>[],
    answers: Answers,
    signal: AbortSignal,
  ): Promise<readonly SendResult[]>
  /** Returns what an error means. */
  verdict(error: unknown): Verdict
}

/** A message and its ordering key. It must not overtake earlier messages with the same key. */
export interface Letter<Message> {
  readonly key: string | null
  readonly message: Message
}

/**
 * Result of a message. A `held` message was not sent, or does not count as sent, because an earlier message
 * of its key has failed.
 */
export type SendResult = 'acknowledged' | 'held' | { readonly error: unknown }

/**
 * What an error means for a message.
 *
 * - `unavailable`: the error has nothing to do with the message.
 * - `retry`: another attempt may succeed, and it counts.
 * - `fatal`: no attempt can succeed.
 * - `unsent`: the message was not sent, and the broker was not asked.
 * - a delay: the receiver asked for it, and no attempt counts.
 */
export type Verdict = 'unavailable' | 'retry' | 'fatal' | 'unsent' | { readonly retryAfterMs: number }

/** Makes a publisher for one kind of broker. */
export function brokerPublisher<Message>(broker: Broker<Message>, options: PublisherOptions): Publisher {
  const {
    retryAfterMs = publisherDefaults.retryAfterMs,
    maxRetryAfterMs = publisherDefaults.maxRetryAfterMs,
    filter,
  } = options
  const outages = new Outages({
    name: broker.name,
    firstDelayMs: retryAfterMs,
    maxDelayMs: Math.max(retryAfterMs, maxRetryAfterMs),
    logger: loggerFrom(options.logger),
    now: () => performance.now(),
  })

  return {
    async onEvents(events, { signal }) {
      const batch = new Batch({ broker, outages, filter, heldMs: retryAfterMs })
      for (const event of events) batch.add(event)
      return batch.publish(signal)
    },
  }
}

const done: PublishAnswer = { kind: 'done' }

/** The events of one `publish` call, until each has its result. */
class Batch<Message> implements Attempt {
  readonly beganAt = performance.now()
  readonly #parts: BatchParts<Message>
  readonly #answers: PublishAnswer[] = []
  readonly #letters: PendingLetter<Message>[] = []
  readonly #failedKeys = new Set<string>()
  // Asked once for the whole batch, because a batch is one try.
  readonly #waits = new Map<string, number>()

  constructor(parts: BatchParts<Message>) {
    this.#parts = parts
  }

  add(event: EventEnvelope): void {
    const key = event.orderingKey
    const index = this.#answers.length
    if (key !== null && this.#failedKeys.has(key)) {
      this.#answers.push(this.#held())
      return
    }
    try {
      if (this.#parts.filter?.(event) === false) {
        this.#answers.push(done)
        return
      }
      const message = this.#parts.broker.message(event)
      const destination = this.#parts.broker.destination?.(message) ?? ''
      const waitMs = this.#waitMs(destination)
      if (waitMs > 0) {
        this.#answers.push(deferred(waitMs, `${this.#parts.broker.name} cannot be reached.`))
        this.#fail(key)
        return
      }
      this.#letters.push({ key, message, index, event, destination })
      this.#answers.push(done)
    } catch (error) {
      this.#answers.push(error instanceof Error ? error : new RecoverableError(describeError(error)))
      this.#fail(key)
    }
  }

  async publish(signal: AbortSignal): Promise<readonly PublishAnswer[]> {
    if (this.#letters.length > 0) {
      const results = await this.#send(signal)
      const answered = this.#answeredDestinations(results, signal)
      for (const [position, letter] of this.#letters.entries()) {
        this.#answers[letter.index] = this.#answerTo(results[position]!, letter, answered, signal)
      }
      for (const destination of answered) this.#parts.outages.answered(destination, this)
      for (const destination of this.#waits.keys()) this.#parts.outages.ended(destination, this)
    }
    return this.#answers
  }

  async #send(signal: AbortSignal): Promise<readonly SendResult[]> {
    const { broker } = this.#parts
    const answers = new Answers(silenceOf(broker.name), signal)
    try {
      signal.throwIfAborted()
      return await broker.send(this.#letters, answers, signal)
    } catch (error) {
      return this.#letters.map(() => ({ error }))
    } finally {
      answers.end()
    }
  }

  #answerTo(
    result: SendResult,
    letter: PendingLetter<Message>,
    answered: ReadonlySet<string>,
    signal: AbortSignal,
  ): PublishAnswer {
    if (result === 'acknowledged') return done
    if (result === 'held') return this.#held()

    const { broker, outages } = this.#parts
    const { eventId, eventType } = letter.event
    const { error } = result
    const verdict = broker.verdict(error)
    if (verdict === 'unsent') return deferred(0, describeError(error))
    // The engine knows why it aborted, and what that means for the event.
    if (signal.aborted) return new RecoverableError(`Publishing event ${eventId} was broken off.`)
    if (verdict === 'unavailable') {
      const { destination } = letter
      const delayMs = answered.has(destination)
        ? outages.failedPartly(destination, error)
        : outages.failed(destination, this, error)
      return deferred(delayMs, describeError(error))
    }
    if (typeof verdict === 'object') return deferred(verdict.retryAfterMs, describeError(error))
    const message = `${broker.name} did not take event ${eventId} (${eventType}).`
    return verdict === 'fatal'
      ? new UnrecoverableError(message, { cause: error }, 'OUTBOX_PUBLISH_REFUSED')
      : new RecoverableError(message, { cause: error }, 'OUTBOX_PUBLISH_FAILED')
  }

  // A destination that replied to any message is available. If all were held, nothing is known.
  #answeredDestinations(results: readonly SendResult[], signal: AbortSignal): ReadonlySet<string> {
    const isAnswer = (result: SendResult): boolean => {
      if (result === 'acknowledged' || result === 'held') return result === 'acknowledged'
      const verdict = this.#parts.broker.verdict(result.error)
      return !signal.aborted && verdict !== 'unavailable' && verdict !== 'unsent'
    }
    const answered = new Set<string>()
    for (const [position, { destination }] of this.#letters.entries()) {
      if (isAnswer(results[position]!)) answered.add(destination)
    }
    return answered
  }

  #waitMs(destination: string): number {
    const known = this.#waits.get(destination)
    if (known !== undefined) return known
    const waitMs = this.#parts.outages.waitMs(destination, this)
    this.#waits.set(destination, waitMs)
    return waitMs
  }

  #held(): PublishAnswer {
    return deferred(this.#parts.heldMs, 'An earlier event of the same ordering key has failed.')
  }

  #fail(key: string | null): void {
    if (key !== null) this.#failedKeys.add(key)
  }
}

interface BatchParts<Message> {
  readonly broker: Broker<Message>
  readonly outages: Outages
  readonly filter: PublisherOptions['filter']
  readonly heldMs: number
}

interface PendingLetter<Message> extends Letter<Message> {
  readonly index: number
  readonly event: EventEnvelope
  readonly destination: string
}

function deferred(delayMs: number, reason: string): PublishAnswer {
  return { kind: 'retryAfter', delayMs, reason }
}
