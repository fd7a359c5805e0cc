import { describeError } from '../describe-error.ts'
import type { Delivery } from '../dispatch/delivery.ts'
import { OutboxError } from '../errors.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import type { ListenerRegistry, Route } from '../route/listener-registry.ts'
import type { Outcome } from '../store.ts'
import { permanentFailure } from './permanent-failure.ts'
import { callListener, failedDelivery } from './primary.ts'
import type { FailedDelivery, Processor } from './processor.ts'
import { retryProcessor } from './retry.ts'
import type { RetryPolicy } from './retry-policy.ts'

export interface ProcessingChainOptions {
  readonly listeners: ListenerRegistry
  readonly codec: JsonCodec
  readonly retryPolicy: RetryPolicy
  readonly maxAttempts: number
  readonly maxDeliveries: number
  readonly onUnroutable: 'dead' | 'defer'
  readonly unroutableDelayMs: number
}

/**
 * Decides what becomes of a delivery: the listener first, and if it fails one stage after the
 * other until one has an answer. Never throws: whatever happens becomes an outcome, so that one
 * bad event cannot stop the engine.
 */
export class ProcessingChain {
  readonly #options: ProcessingChainOptions
  readonly #stages: readonly Processor[]

  constructor(options: ProcessingChainOptions) {
    this.#options = options
    this.#stages = [retryProcessor(options.retryPolicy, options.maxAttempts), permanentFailure]
  }

  routeOf({ row }: Delivery): Route | undefined {
    return this.#options.listeners.routeFor(row.aggregateType, row.eventType)
  }

  /** Whether an event has taken down so many processes that it is not tried again. */
  givesUp({ row }: Delivery): boolean {
    return row.losses >= this.#options.maxDeliveries
  }

  async process(delivery: Delivery): Promise<Outcome> {
    if (this.givesUp(delivery)) return tooManyLosses(delivery.row.losses)

    const route = this.routeOf(delivery)
    if (route === undefined) return this.#unroutable(delivery)
    try {
      const result = await callListener(delivery, route, this.#options.codec)
      return 'error' in result ? await this.#fail(result) : result
    } catch (error) {
      // Not the listener's doing: the row itself cannot be read, or a policy is broken.
      return { kind: 'dead', failure: { error: describeError(error), counted: false } }
    }
  }

  /** The outcome for a listener that was given up on. */
  async timedOut(delivery: Delivery): Promise<Outcome> {
    const event = EventEnvelope.stored(delivery.row, this.#options.codec)
    return this.#fail(failedDelivery(delivery, event, this.routeOf(delivery)!, delivery.abortReason))
  }

  async #fail(failed: FailedDelivery): Promise<Outcome> {
    for (const stage of this.#stages) {
      const outcome = await stage.process(failed)
      if (outcome !== undefined) return outcome
    }
    throw new TypeError('The last stage of the processing chain gave no answer.')
  }

  #unroutable({ row }: Delivery): Outcome {
    const { listeners, onUnroutable, unroutableDelayMs } = this.#options
    const error = describeError(listeners.unroutable(row.eventId, row.aggregateType, row.eventType))
    return onUnroutable === 'dead'
      ? { kind: 'dead', failure: { error, counted: false } }
      : { kind: 'defer', delayMs: unroutableDelayMs, reason: error }
  }
}

function tooManyLosses(losses: number): Outcome {
  const error = new OutboxError(
    'OUTBOX_TOO_MANY_LOSSES',
    `Its process ended ${losses} times in a row while this event was in hand, so it is not tried again.`,
  )
  return { kind: 'dead', failure: { error: describeError(error), counted: false } }
}
