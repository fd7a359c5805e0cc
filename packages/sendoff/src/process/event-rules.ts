import type { Delivery } from '../delivery/delivery.ts'
import { OutboxError } from '../errors.ts'
import { encodePayload } from '../event/encode-payload.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
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
    delivery: RuledDelivery,
    definition?: DefinedEvent<unknown>,
  ): Promise<EventEnvelope | typeof filtered> {
    const rules = this.#rulesFor(delivery.row)
    if (rules.length === 0) return event
    delivery.isInRules = true
    try {
      for (const { when, map } of rules) {
        if (when !== undefined && !(await when(event))) continue
        return map === undefined ? event : await mappedEvent(event, await map(event), this.#codec, definition)
      }
      return filtered
    } finally {
      delivery.isInRules = false
    }
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

/** What the rules need of a delivery, and set on it while one of them runs. */
interface RuledDelivery extends Pick<Delivery, 'isInRules'> {
  readonly row: RoutedRow
}

/** How many types are remembered at most. */
const maxKnown = 10_000

const mappingChecks = { payload: anything, headers: anything, messageKey: anything, target: anything }

async function mappedEvent(
  event: EventEnvelope,
  mapping: EventMapping,
  codec: JsonCodec,
  definition: DefinedEvent<unknown> | undefined,
): Promise<EventEnvelope> {
  const refusal = (problem: string, cause?: unknown) =>
    new OutboxError('OUTBOX_INVALID_MAPPING', `The mapping of event ${event.eventId} ${problem}`, { cause })
  if (typeof mapping !== 'object' || mapping === null)
    throw refusal(`has to be an object, not ${kindOf(mapping)}.`)
  checkOptions(`The mapping of event ${event.eventId}`, mapping, mappingChecks)
  const { payload, messageKey, target } = mapping
  for (const [name, value] of Object.entries({ messageKey: messageKey ?? undefined, target })) {
    if (value !== undefined && typeof value !== 'string')
      throw refusal(`needs a string as ${name}, not ${kindOf(value)}.`)
  }
  if (payload === undefined) return event.mapped(mapping, undefined, refusal)

  let encoded: string | Uint8Array
  try {
    encoded = encodePayload(event.eventType, payload, codec)
  } catch (cause) {
    throw refusal('has a payload that cannot be written as JSON.', cause)
  }
  const mapped = event.mapped(mapping, encoded, refusal)
  const schema = definition?.schema
  if (schema === undefined) return mapped
  const result = await schema['~standard'].validate(mapped.payload)
  if (result.issues === undefined) return mapped.withPayload(result.value)
  throw refusal(
    `does not fit the schema of its listener: ${describeIssues(result.issues)}. Mend it, or register by name.`,
  )
}
