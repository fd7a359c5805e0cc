import { OutboxError } from '../errors.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Refusal } from '../event/event-fields.ts'
import type { EventMapping } from '../event/event-mapping.ts'
import type { DefinedEvent } from '../event/event-type.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import { describeIssues } from '../event/standard-schema.ts'
import { anything, checkOptions, kindOf } from '../options.ts'
import type { DeliveryRule, Routing } from '../route/routing.ts'
import type { Row } from '../store/index.ts'

/** Stands for an event that no rule lets through to a destination. */
export const filtered = Symbol('filtered')

/** Filters and maps the events of a routing at their delivery. */
export class EventRules {
  readonly #routing: Routing
  readonly #codec: JsonCodec
  readonly #known = new Map<string, readonly DeliveryRule[]>()

  constructor(routing: Routing, codec: JsonCodec) {
    this.#routing = routing
    this.#codec = codec
  }

  /**
   * Returns the event as a destination gets it, or `filtered`. The rules are those that routed its row: an
   * upgrade may have renamed the event. The first one decides whose `when` says yes. An event without a rule
   * of this process goes on as it is. A mapped payload has to fit the schema of the definition. Rejects if a
   * rule throws.
   */
  async apply(
    event: EventEnvelope,
    row: RoutedRow,
    definition?: DefinedEvent<unknown>,
  ): Promise<EventEnvelope | typeof filtered> {
    const rules = this.#rulesFor(row)
    if (rules.length === 0) return event
    for (const { when, map } of rules) {
      if (when !== undefined && !(await when(event))) continue
      return map === undefined ? event : mappedEvent(event, await map(event), this.#codec, definition)
    }
    return filtered
  }

  #rulesFor(row: RoutedRow): readonly DeliveryRule[] {
    const name = `${row.eventType}\0${row.aggregateType}\0${row.destination}`
    const known = this.#known.get(name)
    if (known !== undefined) return known
    if (this.#known.size >= maxKnown) this.#known.clear()
    const rules = this.#routing.rulesFor(row.destination, row)
    this.#known.set(name, rules)
    return rules
  }
}

type RoutedRow = Pick<Row, 'eventType' | 'aggregateType' | 'destination'>

/** How many types are remembered at most. */
const maxKnown = 10_000

const mappingChecks = { payload: anything, headers: anything, messageKey: anything, target: anything }

async function mappedEvent(
  event: EventEnvelope,
  mapping: EventMapping,
  codec: JsonCodec,
  definition: DefinedEvent<unknown> | undefined,
): Promise<EventEnvelope> {
  const refusal: Refusal = (problem) => invalidMapping(event, problem)
  if (typeof mapping !== 'object' || mapping === null) {
    throw refusal(`has to be an object, not ${kindOf(mapping)}. Return {} to change nothing.`)
  }
  checkOptions(`The mapping of event ${event.eventId}`, mapping, mappingChecks)
  const { payload, messageKey = null, target } = mapping
  if (messageKey !== null && typeof messageKey !== 'string') throw refusal(notText('messageKey', messageKey))
  if (target !== undefined && typeof target !== 'string') throw refusal(notText('target', target))
  if (payload === undefined) return event.mapped(mapping, undefined, refusal)

  const mapped = event.mapped(mapping, encoded(event, payload, codec), refusal)
  const schema = definition?.schema
  if (schema === undefined) return mapped
  const result = await schema['~standard'].validate(mapped.payload)
  if (result.issues === undefined) return mapped.withPayload(result.value)
  throw refusal(
    `has a payload that does not fit the schema of "${definition!.name}": ${describeIssues(result.issues)}. ` +
      'Return what the schema takes, or register the listener by name.',
  )
}

function encoded(event: EventEnvelope, payload: unknown, codec: JsonCodec): string | Uint8Array {
  if (payload instanceof Uint8Array) return new Uint8Array(payload)
  const problem = 'has a payload that cannot be written as JSON.'
  let json: unknown
  try {
    json = codec.toJson(payload)
  } catch (cause) {
    throw invalidMapping(event, problem, cause)
  }
  if (typeof json === 'string') return json
  throw invalidMapping(event, problem)
}

function notText(name: string, value: unknown): string {
  return `needs a string as ${name}, not ${kindOf(value)}.`
}

function invalidMapping({ eventId }: EventEnvelope, problem: string, cause?: unknown): OutboxError {
  return new OutboxError('OUTBOX_INVALID_MAPPING', `The mapping of event ${eventId} ${problem}`, { cause })
}
