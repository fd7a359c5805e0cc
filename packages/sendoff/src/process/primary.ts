import type { Delivery } from '../dispatch/delivery.ts'
import { PayloadParseError, UnrecoverableError } from '../errors.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import { describeIssues, type StandardSchema } from '../event/standard-schema.ts'
import type { DispatchResult } from '../route/dispatch-result.ts'
import type { DispatchContext, ListenerAnswer } from '../route/event-listener.ts'
import type { Route } from '../route/listener-registry.ts'
import type { Outcome } from '../store.ts'
import type { FailedDelivery } from './processor.ts'

/**
 * The first stage: calls the listener. Its result is an outcome; what it throws goes to the
 * stages behind.
 */
export async function callListener(
  delivery: Delivery,
  route: Route,
  codec: JsonCodec,
): Promise<Outcome | FailedDelivery> {
  let event = EventEnvelope.stored(delivery.row, codec)
  try {
    if (route.schema !== undefined) event = await checkPayload(event, route.schema)
    const answer = await route.listener.onEvent(event, new ListenerContext(delivery))
    return outcomeOf(answer)
  } catch (error) {
    if (delivery.abortReason?.code === 'OUTBOX_SHUTDOWN') return handedBack
    return failedDelivery(delivery, event, route, delivery.abortReason ?? error)
  }
}

export function failedDelivery(
  { row }: Delivery,
  event: EventEnvelope,
  route: Route,
  error: unknown,
): FailedDelivery {
  const counted = !(error instanceof UnrecoverableError)
  return { event, route, error, counted, attempts: row.attempts + (counted ? 1 : 0) }
}

const done: Outcome = { kind: 'done' }

// A listener that stopped because of a shutdown has not failed: the next process begins anew.
const handedBack: Outcome = { kind: 'defer', delayMs: 0, reason: 'Interrupted by a shutdown.' }

/** Reads through to the delivery, so that nothing is made that the listener does not look at. */
class ListenerContext implements DispatchContext {
  readonly #delivery: Delivery

  constructor(delivery: Delivery) {
    this.#delivery = delivery
  }

  get attempt(): number {
    return this.#delivery.row.attempts + 1
  }

  get signal(): AbortSignal {
    return this.#delivery.signal
  }

  get fencingToken(): number {
    return this.#delivery.row.deliveries
  }
}

async function checkPayload(event: EventEnvelope, schema: StandardSchema): Promise<EventEnvelope> {
  const result = await schema['~standard'].validate(event.payload)
  if (result.issues === undefined) return event.withPayload(result.value)
  throw new PayloadParseError(
    `The stored payload of event ${event.eventId} (${event.eventType}) does not fit its schema: ${describeIssues(result.issues)}.`,
  )
}

function outcomeOf(answer: ListenerAnswer): Outcome {
  const kind = (answer as DispatchResult | undefined)?.kind
  if (kind === 'retryAfter') return { kind: 'defer', delayMs: (answer as { delayMs: number }).delayMs }
  if (kind === 'dead') {
    return { kind: 'dead', failure: { error: (answer as { reason: string }).reason, counted: false } }
  }
  return done
}
