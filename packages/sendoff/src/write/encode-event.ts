import { OutboxError } from '../errors.ts'
import { encodePayload } from '../event/encode-payload.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import type { EventFields } from '../event/event-fields.ts'
import { type DefinedEvent, type EventType, isDefinedEvent } from '../event/event-type.ts'
import { versionHeader } from '../event/event-versions.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import {
  describeIssues,
  type SchemaIssue,
  type SchemaResult,
  type StandardSchema,
} from '../event/standard-schema.ts'

/**
 * Checks a payload against its type's schema and puts it into an envelope. Returns a promise only if the
 * schema is asynchronous.
 */
export function encodeEvent(
  type: string | EventType,
  payload: unknown,
  fields: EventFields,
  codec: JsonCodec,
  now?: number,
): EventEnvelope | Promise<EventEnvelope> {
  const name = typeof type === 'string' ? type : type.name
  if (!isDefinedEvent(type))
    return EventEnvelope.encoded(
      { ...fields, eventType: name },
      encodePayload(name, payload, codec),
      codec,
      now,
    )

  const { schema } = type
  if (schema === undefined) return encodeDefined(type, payload, fields, codec, now)

  const validated = schema['~standard'].validate(payload)
  if (validated instanceof Promise) {
    return validated.then((result) => {
      refuseIssues(name, result)
      return survivingJson(type, schema, encodeDefined(type, payload, fields, codec, now), codec)
    })
  }
  refuseIssues(name, validated)
  return survivingJson(type, schema, encodeDefined(type, payload, fields, codec, now), codec)
}

/**
 * Event types with a payload that passed its schema again in this process, after it was turned into JSON and
 * back.
 */
const survivors = new WeakSet<object>()
const codecsToCheck = new WeakSet<JsonCodec>()

/**
 * Returns a codec that makes the writer check every payload with a schema, not only the first of its type.
 * For tests.
 */
export function checkingEveryPayload(codec: JsonCodec): JsonCodec {
  const checked: JsonCodec = {
    toJson: (value) => codec.toJson(value),
    fromJson: (json) => codec.fromJson(json),
  }
  codecsToCheck.add(checked)
  return checked
}

/**
 * Refuses an event that its listener could not read. One check per type is enough, since all its events share
 * the schema.
 */
function survivingJson(
  type: DefinedEvent<unknown>,
  schema: StandardSchema,
  event: EventEnvelope,
  codec: JsonCodec,
): EventEnvelope | Promise<EventEnvelope> {
  if (event.payloadJson === undefined || (survivors.has(type) && !codecsToCheck.has(codec))) return event

  const read = schema['~standard'].validate(event.payload)
  const survived = ({ issues }: SchemaResult<unknown>): EventEnvelope => {
    if (issues !== undefined) throw lostInJson(type.name, issues)
    survivors.add(type)
    return event
  }
  return read instanceof Promise ? read.then(survived) : survived(read)
}

function lostInJson(name: string, issues: readonly SchemaIssue[]): OutboxError {
  return new OutboxError(
    'OUTBOX_PAYLOAD_NOT_SERIALIZABLE',
    `The payload of a "${name}" event does not fit its schema after it was turned into JSON and back, so no listener could read it: ` +
      `${describeIssues(issues)}. JSON turns a Date into text, NaN and Infinity into null, a Map, a Set or an Error into {}, and drops undefined. ` +
      'Use a schema whose input is what JSON gives back, such as an ISO date as text that the schema transforms.',
  )
}

function encodeDefined(
  type: DefinedEvent<unknown>,
  payload: unknown,
  fields: EventFields,
  codec: JsonCodec,
  now: number | undefined,
): EventEnvelope {
  const { name, aggregateType, version } = type
  const aggregateId = fields.aggregateId ?? type.aggregateId?.(payload)
  const orderingKey = fields.orderingKey ?? type.orderingKey?.(payload)
  const headers =
    version === undefined ? fields.headers : { ...fields.headers, [versionHeader]: String(version) }
  const options = { aggregateType, ...fields, eventType: name, aggregateId, orderingKey, headers }
  return EventEnvelope.encoded(options, encodePayload(name, payload, codec), codec, now)
}

function refuseIssues(name: string, { issues }: SchemaResult<unknown>): void {
  if (issues === undefined) return
  throw new OutboxError(
    'OUTBOX_INVALID_PAYLOAD',
    `The payload of a "${name}" event does not fit its schema: ${describeIssues(issues)}.`,
  )
}
