import { describeError, storableText } from '../describe-error.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { UnroutableEventError } from '../errors.ts'
import { OutboxError, PayloadParseError, UnrecoverableError } from '../errors.ts'
import { boundedDelayMs } from '../event/delay.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import { describeIssues, type StandardSchema } from '../event/standard-schema.ts'
import type { Logger } from '../observe/logger.ts'
import type { DispatchResult } from '../route/dispatch-result.ts'
import type { EventInterceptor } from '../route/event-interceptor.ts'
import type { BatchEventListener, ListenerAnswer } from '../route/event-listener.ts'
import { type ListenerRegistry, type Route } from '../route/listener-registry.ts'
import type { Outcome, Row } from '../store/index.ts'
import { batchAnswers } from './batch-answers.ts'
import { exponentialBackoff } from '../retry/exponential-backoff.ts'
import { fallback } from './fallback.ts'
import { Interceptors } from './interceptors.ts'
import { ListenerBatchContext, ListenerContext } from './listener-context.ts'
import { permanentFailure } from './permanent-failure.ts'
import { primary } from './primary.ts'
import { type FailedDelivery, isFailed, type Processors } from './processor.ts'
import { retryPolicies, retryProcessor, type RetryProcessorOptions } from './retry.ts'

/**
 * The treatment of an event after its last attempt. `dead`: it is DEAD. `block`: it blocks the events behind
 * it until an operator decides. `retry`: it is retried without end.
 */
export type GivenUp = 'dead' | 'block' | 'retry'

/** Options of `ProcessingChain`. */
export interface ProcessingChainOptions extends RetryProcessorOptions {
  readonly listeners: ListenerRegistry
  readonly codec: JsonCodec
  readonly logger: Logger
  readonly interceptors: readonly EventInterceptor[]
  /** Replacements for stages of the chain. */
  readonly processors: Partial<Processors>
  readonly maxLosses: number
  readonly onUnroutable: 'dead' | 'defer'
  readonly unroutableDelayMs: number
  readonly deleteCompleted: boolean
  readonly onGivenUp: (row: Row) => GivenUp
}

/**
 * Decides the outcome of deliveries. Interceptors and the listener come first. If they fail, the next stages
 * run one after the other, until one returns an outcome. Never throws: every error becomes an outcome, so
 * that one bad event cannot stop the engine.
 */
export class ProcessingChain {
  readonly #options: ProcessingChainOptions
  readonly #stages: Processors
  readonly #interceptors: Interceptors
  readonly #done: Outcome
  readonly #policyFor: ReturnType<typeof retryPolicies>

  constructor(options: ProcessingChainOptions) {
    this.#options = options
    this.#policyFor = retryPolicies(options)
    this.#stages = {
      primary,
      retry: retryProcessor(options),
      fallback,
      permanentFailure,
      ...options.processors,
    }
    this.#interceptors = new Interceptors(options.interceptors, options.logger)
    this.#done = { kind: options.deleteCompleted ? 'delete' : 'done' }
  }

  routeOf({ row }: Delivery): Route | undefined {
    return this.#options.listeners.routeFor(row.aggregateType, row.eventType)
  }

  /** Whether the losses of an event have reached `maxLosses`: the process does not try it again. */
  givesUp({ row }: Delivery): boolean {
    return row.losses >= this.#options.maxLosses
  }

  /** How many attempts an event has in all; Infinity if it is retried until it succeeds. */
  maxAttemptsOf(delivery: Delivery): number {
    const { row } = delivery
    if (this.#options.onGivenUp(row) === 'retry') return Infinity
    return this.#policyFor(row.eventType, this.routeOf(delivery)).maxAttempts ?? this.#options.maxAttempts
  }

  async process(delivery: Delivery, route = this.routeOf(delivery)): Promise<Outcome> {
    const preparing = this.#prepare(delivery, route)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    if (!(prepared instanceof EventEnvelope)) return prepared

    let event = prepared
    let outcome: Outcome
    try {
      if (route!.schema !== undefined) event = await checkPayload(event, route!.schema)
      outcome = this.#outcomeOf(
        await this.#stages.primary.process(event, route!, new ListenerContext(delivery)),
      )
    } catch (error) {
      return this.#failed(delivery, event, route, error)
    }
    if (!this.#interceptors.none) await this.#interceptors.after(event, null)
    return outcome
  }

  /** Returns the outcomes of a batch for one batch listener, in order. */
  async processBatch(deliveries: readonly Delivery[], route: Route): Promise<readonly Outcome[]> {
    const outcomes = new Map<Delivery, Outcome>()
    const ready: { readonly delivery: Delivery; readonly event: EventEnvelope }[] = []
    for (const delivery of deliveries) {
      const prepared = await this.#prepare(delivery, route)
      if (prepared instanceof EventEnvelope) ready.push({ delivery, event: prepared })
      else outcomes.set(delivery, prepared)
    }

    const answers = await callBatch(route.listener as BatchEventListener, ready)
    for (const [index, { delivery, event }] of ready.entries()) {
      outcomes.set(delivery, await this.#answered(delivery, event, route, answers[index]))
    }
    return deliveries.map((delivery) => outcomes.get(delivery)!)
  }

  /**
   * Returns the outcome for a listener that was given up. It may still be running, so a fallback would come
   * too early.
   */
  async timedOut(delivery: Delivery): Promise<Outcome> {
    try {
      const event = EventEnvelope.stored(delivery.row, this.#options.codec)
      const failed = failedDelivery(delivery, event, this.routeOf(delivery)!, delivery.abortReason)
      const retried = await this.#stages.retry.process(failed)
      return isFailed(retried) ? this.#givenUp(delivery, await this.#last(retried)) : retried
    } catch (error) {
      return this.#givenUp(delivery, dead(error))
    }
  }

  /**
   * Returns the event ready for its listener, or its outcome if no listener is to run. Returns a promise only
   * if there is something to await.
   */
  #prepare(
    delivery: Delivery,
    route: Route | undefined,
  ): EventEnvelope | Outcome | Promise<EventEnvelope | Outcome> {
    if (this.givesUp(delivery)) return this.#neverAgain(delivery, tooManyLosses(delivery.row.losses))

    let event: EventEnvelope
    try {
      event = EventEnvelope.stored(delivery.row, this.#options.codec)
    } catch (error) {
      return this.#givenUp(delivery, dead(error))
    }
    if (this.#interceptors.none && route !== undefined) return event
    return this.#intercept(delivery, event, route)
  }

  async #intercept(
    delivery: Delivery,
    event: EventEnvelope,
    route: Route | undefined,
  ): Promise<EventEnvelope | Outcome> {
    try {
      await this.#interceptors.before(event)
      if (route === undefined) throw this.#unroutable(delivery)
      return event
    } catch (error) {
      return this.#failed(delivery, event, route, error)
    }
  }

  async #answered(
    delivery: Delivery,
    event: EventEnvelope,
    route: Route,
    answer: ListenerAnswer | Error,
  ): Promise<Outcome> {
    if (answer instanceof Error) return this.#failed(delivery, event, route, answer)
    let outcome: Outcome
    try {
      outcome = this.#outcomeOf(answer)
    } catch (unreadable) {
      return this.#failed(delivery, event, route, unreadable)
    }
    if (!this.#interceptors.none) await this.#interceptors.after(event, null)
    return outcome
  }

  async #failed(
    delivery: Delivery,
    event: EventEnvelope,
    route: Route | undefined,
    thrown: unknown,
  ): Promise<Outcome> {
    const error = delivery.abortReason ?? thrown
    if (!this.#interceptors.none) await this.#interceptors.after(event, error)
    if (isInterrupted(delivery)) return handedBack
    try {
      if (route === undefined) return this.#givenUp(delivery, this.#unroutableOutcome(error))

      const retried = await this.#stages.retry.process(failedDelivery(delivery, event, route, error))
      if (!isFailed(retried)) return retried
      const second = await this.#stages.fallback.process(retried)
      return isFailed(second) ? this.#givenUp(delivery, await this.#last(second)) : this.#completed(second)
    } catch (broken) {
      // The listener is not to blame: a policy or a stage is broken.
      return this.#givenUp(delivery, dead(broken))
    }
  }

  // A listener may return `dead` to give an event up for good. Such an outcome does not come here.
  #givenUp(delivery: Delivery, outcome: Outcome): Outcome {
    const { row } = delivery
    if (outcome.kind !== 'dead' || this.#options.onGivenUp(row) !== 'retry') {
      return this.#neverAgain(delivery, outcome)
    }
    const delayMs = usualBackoff.computeDelayMs(row.attempts + 1)
    return { kind: 'retry', delayMs, failure: { ...outcome.failure, counted: true } }
  }

  // An event that may have ended processes is not retried without an operator.
  #neverAgain({ row }: Delivery, outcome: Outcome): Outcome {
    if (outcome.kind !== 'dead' || this.#options.onGivenUp(row) !== 'block') return outcome
    return { kind: 'block', failure: outcome.failure }
  }

  async #last(failed: FailedDelivery): Promise<Outcome> {
    const last = await this.#stages.permanentFailure.process(failed)
    return isFailed(last)
      ? { kind: 'dead', failure: { error: describeError(last.error), counted: last.counted } }
      : last
  }

  // Throws if the answer cannot be read.
  #outcomeOf(answer: ListenerAnswer): Outcome {
    const result = answer as DispatchResult | undefined
    switch (result?.kind) {
      case 'retryAfter':
        // A result that `DispatchResult` did not make may hold anything, but the store has to be able to
        // write it.
        return {
          kind: 'defer',
          delayMs: boundedDelayMs(result.delayMs),
          ...(result.reason !== undefined && { reason: describeError(String(result.reason)) }),
          ...(result.quiet === true && { quiet: true }),
        }
      case 'dead':
        return {
          kind: 'dead',
          failure: {
            error: storableText(String(result.reason ?? 'The listener gave the event up.')),
            counted: false,
          },
        }
      default:
        return this.#done
    }
  }

  // An event whose fallback succeeded is complete, and is kept or deleted like all others.
  #completed(outcome: Outcome): Outcome {
    return outcome.kind === 'done' && this.#options.deleteCompleted ? { ...outcome, kind: 'delete' } : outcome
  }

  #unroutable({ row }: Delivery): UnroutableEventError {
    return this.#options.listeners.unroutable(row.eventId, row.aggregateType, row.eventType)
  }

  #unroutableOutcome(error: unknown): Outcome {
    const { onUnroutable, unroutableDelayMs } = this.#options
    return onUnroutable === 'dead'
      ? dead(error)
      : { kind: 'defer', delayMs: unroutableDelayMs, reason: describeError(error) }
  }
}

const usualBackoff = exponentialBackoff()

// A listener that a shutdown or a lost lease has stopped has not failed: the next holder begins anew. After a
// lost lease, the store refuses this outcome anyway.
const handedBack: Outcome = {
  kind: 'defer',
  delayMs: 0,
  reason: 'Interrupted by a shutdown or a lost lease.',
}

function isInterrupted({ abortReason }: Delivery): boolean {
  return abortReason?.code === 'OUTBOX_SHUTDOWN' || abortReason?.code === 'OUTBOX_LEASE_LOST'
}

function dead(error: unknown): Outcome {
  return { kind: 'dead', failure: { error: describeError(error), counted: false } }
}

function tooManyLosses(losses: number): Outcome {
  return dead(
    new OutboxError(
      'OUTBOX_TOO_MANY_LOSSES',
      `${losses} processes in a row ended while they held this event, so it is not tried again.`,
    ),
  )
}

function failedDelivery(
  { row }: Delivery,
  event: EventEnvelope,
  route: Route,
  error: unknown,
): FailedDelivery {
  const counted = !(error instanceof UnrecoverableError)
  return { event, route, error, counted, attempts: row.attempts + (counted ? 1 : 0) }
}

async function checkPayload(event: EventEnvelope, schema: StandardSchema): Promise<EventEnvelope> {
  const result = await schema['~standard'].validate(event.payload)
  if (result.issues === undefined) return event.withPayload(result.value)
  throw new PayloadParseError(
    `The stored payload of event ${event.eventId} (${event.eventType}) does not fit its schema: ${describeIssues(result.issues)}.`,
  )
}

/** Returns an answer for each event. If the call itself failed, all get the same error. */
async function callBatch(
  listener: BatchEventListener,
  ready: readonly { readonly delivery: Delivery; readonly event: EventEnvelope }[],
): Promise<readonly (ListenerAnswer | Error)[]> {
  if (ready.length === 0) return []
  try {
    const context = new ListenerBatchContext(ready.map(({ delivery }) => delivery))
    const returned = await listener.onEvents(
      ready.map(({ event }) => event),
      context,
    )
    return batchAnswers(returned, ready.length)
  } catch (error) {
    return ready.map(() => (error instanceof Error ? error : new Error(describeError(error))))
  }
}
