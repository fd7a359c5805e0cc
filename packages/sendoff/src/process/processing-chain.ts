import { describeError, storableText } from '../describe-error.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { UnroutableEventError } from '../errors.ts'
import { OutboxError, PayloadParseError, UnrecoverableError } from '../errors.ts'
import { boundedDelayMs } from '../event/delay.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import type { DefinedEvent } from '../event/event-type.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import { describeIssues, type StandardSchema } from '../event/standard-schema.ts'
import type { Logger } from '../observe/logger.ts'
import type { DispatchResult } from '../route/dispatch-result.ts'
import type { EventInterceptor } from '../route/event-interceptor.ts'
import type { BatchEventListener, ListenerAnswer } from '../route/event-listener.ts'
import { type ListenerRegistry, type Route } from '../route/listener-registry.ts'
import type { Outcome, Row } from '../store/index.ts'
import { batchAnswers } from './batch-answers.ts'
import { type EventRules, filtered } from './event-rules.ts'
import { exponentialBackoff } from '../retry/exponential-backoff.ts'
import { fallback } from './fallback.ts'
import { Interceptors } from './interceptors.ts'
import { ListenerBatchContext, ListenerContext } from './listener-context.ts'
import { permanentFailure } from './permanent-failure.ts'
import { primary } from './primary.ts'
import { type FailedDelivery, isFailed, type Processors } from './processor.ts'
import { retryPolicies, retryProcessor, type RetryProcessorOptions } from './retry.ts'
import { isCurrent, isTooNew, unfitUpgrade, upgradeEvent } from './upgrade-event.ts'

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
  /** Filters and maps events by the rules of the routing. Default: none. */
  readonly rules?: EventRules | undefined
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
  readonly #newerTypes = new Set<string>()

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
    return this.#options.listeners.routeFor(row.aggregateType, row.eventType, row.destination)
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
      const schema = route!.definition?.schema
      if (schema !== undefined) event = await this.#checkPayload(delivery, event, route!.definition!, schema)
      if (this.#options.rules !== undefined) {
        const ruled = await this.#options.rules.apply(event, delivery, route!.definition)
        if (ruled === filtered) return await this.#filtered(event)
        event = ruled
      }
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
    const ready: ReadyDelivery[] = []
    for (const delivery of deliveries) {
      // The listener is the same, but each event has a definition of its own.
      const own = this.routeOf(delivery) ?? route
      const prepared = await this.#ruled(delivery, own, await this.#prepare(delivery, own))
      if (prepared instanceof EventEnvelope) ready.push({ delivery, event: prepared, route: own })
      else outcomes.set(delivery, prepared)
    }

    const answers = await callBatch(route.listener as BatchEventListener, ready)
    for (const [index, { delivery, event, route: own }] of ready.entries()) {
      const answered = () => this.#answered(delivery, event, own, answers[index])
      outcomes.set(delivery, await (delivery.within === undefined ? answered() : delivery.within(answered)))
    }
    return deliveries.map((delivery) => outcomes.get(delivery)!)
  }

  /**
   * Returns the outcome for a listener that was given up. It may still be running, so a fallback would come
   * too early.
   */
  async timedOut(delivery: Delivery): Promise<Outcome> {
    try {
      const route = this.routeOf(delivery)!
      const event = this.#current(EventEnvelope.stored(delivery.row, this.#options.codec), route)
      const failed = failedDelivery(delivery, event, route, delivery.abortReason)
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
    if (this.#interceptors.none && route !== undefined && isCurrent(event, route.definition)) return event
    return this.#intercept(delivery, event, route)
  }

  /** Applies the rules to an event of a batch. */
  async #ruled(
    delivery: Delivery,
    route: Route,
    prepared: EventEnvelope | Outcome,
  ): Promise<EventEnvelope | Outcome> {
    const { rules } = this.#options
    if (rules === undefined || !(prepared instanceof EventEnvelope)) return prepared
    try {
      const ruled = await rules.apply(prepared, delivery)
      return ruled === filtered ? await this.#filtered(prepared) : ruled
    } catch (error) {
      return this.#failed(delivery, prepared, route, error)
    }
  }

  async #filtered(event: EventEnvelope): Promise<Outcome> {
    if (!this.#interceptors.none) await this.#interceptors.after(event, null)
    return { kind: this.#options.deleteCompleted ? 'delete' : 'done', filtered: true }
  }

  async #intercept(
    delivery: Delivery,
    stored: EventEnvelope,
    route: Route | undefined,
  ): Promise<EventEnvelope | Outcome> {
    if (route?.definition !== undefined && isTooNew(stored, route.definition)) {
      return this.#leftToNewerProcess(stored, route.definition)
    }
    let event = stored
    try {
      if (route !== undefined) event = this.#current(stored, route)
      await this.#interceptors.before(event)
      if (route === undefined) throw this.#unroutable(delivery)
      return event
    } catch (error) {
      return this.#failed(delivery, event, route, error)
    }
  }

  #current(event: EventEnvelope, { definition }: Route): EventEnvelope {
    if (definition === undefined || isCurrent(event, definition)) return event
    return upgradeEvent(event, definition, this.#options.codec)
  }

  /**
   * Leaves an event to a process that knows its version. No attempt counts, and this process does not wake up
   * for it: a process of the newer version should find it first.
   */
  #leftToNewerProcess({ eventId, version }: EventEnvelope, definition: DefinedEvent<unknown>): Outcome {
    const { logger, unroutableDelayMs } = this.#options
    const { name, aggregateType, version: known = 1 } = definition
    const error = new OutboxError(
      'OUTBOX_VERSION_TOO_NEW',
      `Event ${eventId} (${name}) has version ${version}, and this process knows versions up to ${known}. It waits for a process that knows its version.`,
    )
    const type = `${aggregateType}:${name}:${version}`
    if (!this.#newerTypes.has(type) && this.#newerTypes.size < maxNewerTypes) {
      this.#newerTypes.add(type)
      logger.warn(`${error.message} All events like it do. Deploy the newer version to every process.`)
    }
    const delayMs = Math.min(unroutableDelayMs, newerVersionDelayMs)
    return { kind: 'defer', delayMs, reason: describeError(error), quiet: true }
  }

  async #checkPayload(
    { row }: Delivery,
    event: EventEnvelope,
    definition: DefinedEvent<unknown>,
    schema: StandardSchema,
  ): Promise<EventEnvelope> {
    const result = await schema['~standard'].validate(event.payload)
    if (result.issues === undefined) return event.withPayload(result.value)

    const issues = describeIssues(result.issues)
    if (EventEnvelope.stored(row, this.#options.codec).version < event.version) {
      throw unfitUpgrade(event, definition, issues)
    }
    throw new PayloadParseError(
      `The stored payload of event ${event.eventId} (${event.eventType}) does not fit its schema: ${issues}.`,
    )
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
      if (route === undefined) return this.#givenUp(delivery, this.#unroutableOutcome(delivery, error))

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
    const { eventId, aggregateType, eventType, destination } = row
    return this.#options.listeners.unroutable(eventId, aggregateType, eventType, destination)
  }

  // A process that knows nothing of a destination is no reason to give its events up.
  #unroutableOutcome({ row: { destination } }: Delivery, error: unknown): Outcome {
    const { onUnroutable, unroutableDelayMs, listeners } = this.#options
    return onUnroutable === 'dead' && (destination === '' || listeners.has(destination))
      ? dead(error)
      : { kind: 'defer', delayMs: unroutableDelayMs, reason: describeError(error) }
  }
}

const usualBackoff = exponentialBackoff()

/** After how many milliseconds an event of a newer version is due again, at most. */
const newerVersionDelayMs = 5_000

/** How many newer versions the log names at most. */
const maxNewerTypes = 100

/** A delivery whose event is ready for its listener. */
interface ReadyDelivery {
  readonly delivery: Delivery
  readonly event: EventEnvelope
  readonly route: Route
}

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

/** Returns an answer for each event. If the call itself failed, all get the same error. */
async function callBatch(
  listener: BatchEventListener,
  ready: readonly ReadyDelivery[],
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
