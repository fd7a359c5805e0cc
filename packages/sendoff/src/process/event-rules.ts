import { OutboxError } from '../errors.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventMapping } from '../event/event-mapping.ts'
import type { JsonCodec } from '../event/json-codec.ts'
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
   * of this process goes on as it is. Rejects if a rule throws.
   */
  async apply(event: EventEnvelope, row: RoutedRow): Promise<EventEnvelope | typeof filtered> {
    const rules = this.#rulesFor(row)
    if (rules.length === 0) return event
    for (const { when, map } of rules) {
      if (when !== undefined && !(await when(event))) continue
      return map === undefined ? event : mappedEvent(event, await map(event), this.#codec)
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

function mappedEvent(event: EventEnvelope, mapping: EventMapping, codec: JsonCodec): EventEnvelope {
  checkOptions(`the mapping of event ${event.eventId}`, mapping, mappingChecks)
  const { payload, messageKey = null, target } = mapping
  if (messageKey !== null && typeof messageKey !== 'string') throw notText(event, 'messageKey', messageKey)
  if (target !== undefined && typeof target !== 'string') throw notText(event, 'target', target)
  return event.mapped(mapping, payload === undefined ? undefined : encoded(event, payload, codec))
}

function encoded(event: EventEnvelope, payload: unknown, codec: JsonCodec): string | Uint8Array {
  if (payload instanceof Uint8Array) return new Uint8Array(payload)
  let json: unknown
  try {
    json = codec.toJson(payload)
  } catch (cause) {
    throw notJson(event, cause)
  }
  if (typeof json === 'string') return json
  throw notJson(event)
}

function notText({ eventId }: EventEnvelope, name: string, value: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_MAPPING',
    `The mapping of event ${eventId} needs a string as ${name}, not ${kindOf(value)}.`,
  )
}

function notJson({ eventId }: EventEnvelope, cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_MAPPING',
    `The mapping of event ${eventId} returned a payload that cannot be written as JSON.`,
    { cause },
  )
}
