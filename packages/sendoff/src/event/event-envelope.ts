import { inspect } from 'node:util'
import { OutboxError, PayloadParseError } from '../errors.ts'
import type { NewRow, Row } from '../store/index.ts'
import { maxDelayMs } from '../store/rows.ts'
import {
  checkFields,
  checkHeaders,
  checkTime,
  type EventFields,
  invalid,
  type Refusal,
} from './event-fields.ts'
import type { EventMapping } from './event-mapping.ts'
import { AggregateType, type EventType, nameOf } from './event-type.ts'
import { versionOf } from './event-versions.ts'
import { JsonCodec } from './json-codec.ts'
import { partitionOf } from '../store/partition-of.ts'
import { isTooDeep, maxPayloadDepth } from './payload-depth.ts'
import { monotonicUlids } from './ulid.ts'

/** The largest payload that can be stored, in bytes. */
export const maxPayloadBytes = 1_048_576

/** The most bytes of all headers of an event, as JSON. */
export const maxHeaderBytes = 65_536

/** The fields and the payload of an event. The payload is JSON text or bytes. */
export interface EnvelopeOptions extends EventFields {
  /** The type that routes the event to its listener, at most 128 characters. */
  readonly eventType: string | EventType
  /** The payload as JSON text. */
  readonly payloadJson?: string
  /** The payload as bytes, instead of JSON text. */
  readonly payloadBytes?: Uint8Array
}

// A caller that asks for "now" reads the clock a moment before the envelope does.
const clockReadingMs = 1000

const nextId = monotonicUlids()
const dueAtOnce = { inMs: 0 }
const noHeaders: Readonly<Record<string, string>> = Object.freeze({})

/**
 * One event, as a writer writes it and as a listener gets it. Immutable.
 *
 * The payload is kept as it is stored, byte for byte, and is parsed on first use.
 */
export class EventEnvelope<Payload = unknown> {
  readonly #data: EnvelopeData
  readonly #codec: JsonCodec
  #headers: Readonly<Record<string, string>> | undefined
  #payload: { readonly value: unknown } | undefined
  #mapping: EventMapping | undefined
  #hasNewId = false

  private constructor(data: EnvelopeData, codec: JsonCodec) {
    this.#data = data
    this.#codec = codec
  }

  /** Creates an event. Throws `OUTBOX_INVALID_EVENT` if a field breaks a rule. */
  static of(options: EnvelopeOptions, codec: JsonCodec = JsonCodec.getDefault()): EventEnvelope {
    const { payloadJson, payloadBytes } = options
    if ((payloadJson === undefined) === (payloadBytes === undefined)) {
      throw invalid('needs a payload: either payloadJson or payloadBytes.')
    }
    if (payloadJson !== undefined) checkJson(payloadJson)
    else if (!(payloadBytes instanceof Uint8Array)) throw invalid('needs a Uint8Array as payloadBytes.')

    return EventEnvelope.encoded(options, payloadJson ?? new Uint8Array(payloadBytes!), codec)
  }

  /** Creates an event from its type and its payload as JSON text. */
  static ofJson(eventType: string | EventType, payloadJson: string): EventEnvelope {
    return EventEnvelope.of({ eventType, payloadJson })
  }

  /** Creates an event from a payload that is known to be valid JSON, or bytes. */
  static encoded(
    options: PlainFields,
    encoded: string | Uint8Array,
    codec: JsonCodec,
    now: number = Date.now(),
  ): EventEnvelope {
    const payload = typeof encoded === 'string' ? withoutHalves(encoded) : encoded
    const eventType = nameOf(options.eventType)
    const aggregateType = nameOf(options.aggregateType ?? AggregateType.GLOBAL)
    checkFields(options, eventType, aggregateType)
    checkSize(eventType, payload)
    if (typeof payload === 'string' && isTooDeep(payload)) throw payloadTooDeep(eventType)

    const { aggregateId = null, headers, availableAt, deliverAfterMs } = options
    const occurredAt = options.occurredAt?.getTime() ?? now
    if (availableAt !== undefined && availableAt.getTime() < occurredAt - clockReadingMs) {
      throw invalid('has an availableAt before its occurredAt.')
    }
    if (availableAt !== undefined && availableAt.getTime() - now > maxDelayMs) {
      throw invalid('has an availableAt that is more than a hundred years away.')
    }
    const envelope = new EventEnvelope(
      {
        eventId: options.eventId ?? nextId(),
        eventType,
        aggregateType,
        aggregateId,
        tenantId: options.tenantId ?? null,
        orderingKey: options.orderingKey ?? (aggregateId === null ? null : `${aggregateType}:${aggregateId}`),
        payload,
        contentType: options.contentType ?? usualContentType(payload),
        headers: headers === undefined ? null : encodeHeaders(headers),
        occurredAt,
        due: dueOf(occurredAt, now, availableAt, deliverAfterMs),
        idempotencyKey: options.idempotencyKey ?? null,
      },
      codec,
    )
    envelope.#hasNewId = options.eventId === undefined
    return envelope
  }

  /**
   * Reads a stored event. Throws `PayloadParseError` if its row has no valid time or payload, or its headers
   * cannot be read.
   */
  static stored(row: Row, codec: JsonCodec): EventEnvelope {
    checkReadable(row)
    const envelope = new EventEnvelope(row, codec)
    if (row.headers !== null) envelope.#headers = decodeHeaders(row, codec)
    return envelope
  }

  get eventId(): string {
    return this.#data.eventId
  }

  get eventType(): string {
    return this.#data.eventType
  }

  get aggregateType(): string {
    return this.#data.aggregateType
  }

  get aggregateId(): string | null {
    return this.#data.aggregateId
  }

  get tenantId(): string | null {
    return this.#data.tenantId
  }

  get orderingKey(): string | null {
    return this.#data.orderingKey
  }

  /** The key for the message of a publisher: the ordering key, unless a rule of the routing mapped it. */
  get messageKey(): string | null {
    return this.#mapping?.messageKey === undefined ? this.#data.orderingKey : this.#mapping.messageKey
  }

  /** Where the destination puts the event, if a rule of the routing says so. */
  get target(): string | undefined {
    return this.#mapping?.target
  }

  /** The content type of the payload; null for JSON. */
  get contentType(): string | null {
    return this.#data.contentType
  }

  get occurredAt(): Date {
    return new Date(this.#data.occurredAt)
  }

  /** When a delayed event is due. Undefined if the event is due at once, and for stored events. */
  get availableAt(): Date | undefined {
    return this.#data.due === undefined ? undefined : new Date(this.#data.due.at)
  }

  get idempotencyKey(): string | null {
    return this.#data.idempotencyKey ?? null
  }

  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??=
      this.#data.headers === null
        ? noHeaders
        : Object.freeze(JsonCodec.parseStringMap(this.#data.headers, this.#codec)))
  }

  /** The version of the payload: 1 unless its definition or the header `event-version` names another. */
  get version(): number {
    return this.#data.headers === null ? 1 : versionOf(this.headers)
  }

  /** The payload as JSON text; undefined if it is bytes. */
  get payloadJson(): string | undefined {
    const { payload } = this.#data
    return typeof payload === 'string' ? payload : undefined
  }

  /** The payload as bytes: a copy of what is stored, or the JSON text in UTF-8. */
  get payloadBytes(): Uint8Array {
    const { payload } = this.#data
    return typeof payload === 'string' ? new TextEncoder().encode(payload) : new Uint8Array(payload)
  }

  /** The payload, parsed on first use. Bytes are returned as they are. */
  get payload(): Payload {
    this.#payload ??= { value: this.#decode() }
    return this.#payload.value as Payload
  }

  /** How many milliseconds the event has to wait if it is written at `now`. */
  dueInMs(now: number): number {
    const { due } = this.#data
    return due === undefined ? 0 : Math.max(0, due.inMs ?? due.at - now)
  }

  isDelayed(): boolean {
    const due = this.#data.due
    return due !== undefined && due.at > this.#data.occurredAt
  }

  /** Returns the same event with a payload that its schema has transformed. */
  withPayload<Decoded>(value: Decoded): EventEnvelope<Decoded> {
    const copy = new EventEnvelope<Decoded>(this.#data, this.#codec)
    copy.#headers = this.#headers
    copy.#payload = { value }
    copy.#mapping = this.#mapping
    return copy
  }

  /** Returns the same event with other names, and with another encoded payload and headers if given. */
  rewritten({ payload, headers, ...names }: Rewriting): EventEnvelope {
    const data = this.#data
    const isOtherKind = payload !== undefined && typeof payload !== typeof data.payload
    return new EventEnvelope(
      {
        ...data,
        ...names,
        ...(payload !== undefined && { payload }),
        ...(isOtherKind && { contentType: usualContentType(payload) }),
        ...(headers !== undefined && { headers: encodeHeaders(headers) }),
      },
      this.#codec,
    )
  }

  /**
   * Returns the same event as a rule maps it for one destination. `payload` is JSON text or bytes. Throws the
   * refusal if its headers break a rule.
   */
  mapped(
    mapping: EventMapping,
    payload: string | Uint8Array | undefined,
    refusal: Refusal = invalid,
  ): EventEnvelope {
    const { headers } = mapping
    if (headers !== undefined) checkHeaders(headers, refusal)
    const data = {
      ...this.#data,
      ...(headers && { headers: encodeHeaders({ ...this.headers, ...headers }, refusal) }),
      ...(payload !== undefined && {
        payload,
        contentType: typeof payload === 'string' ? null : 'application/octet-stream',
      }),
    }
    const copy = new EventEnvelope(data, this.#codec)
    if (payload === undefined) copy.#payload = this.#payload
    copy.#mapping = mapping
    return copy
  }

  /** Returns the row to insert, for one destination. */
  toRow(claimed: boolean, destination = ''): NewRow {
    const data = this.#data
    const { due, orderingKey } = data
    // A second write of the same envelope may find its row in the store.
    const hasNewId = this.#hasNewId
    this.#hasNewId = false
    return {
      eventId: data.eventId,
      destination,
      eventType: data.eventType,
      aggregateType: data.aggregateType,
      aggregateId: data.aggregateId,
      tenantId: data.tenantId,
      orderingKey,
      partitionNo: orderingKey === null ? null : partitionOf(orderingKey),
      payload: data.payload,
      contentType: data.contentType,
      headers: data.headers,
      occurredAt: data.occurredAt,
      due: due === undefined ? dueAtOnce : due.inMs === undefined ? { at: due.at } : { inMs: due.inMs },
      idempotencyKey: data.idempotencyKey ?? null,
      claimed,
      hasNewId,
    }
  }

  /** Leaves the payload out, so that a printed event does not show its data. */
  [inspect.custom](): object {
    const { eventId, eventType, aggregateType, aggregateId, tenantId, occurredAt } = this
    return { eventId, eventType, aggregateType, aggregateId, tenantId, occurredAt }
  }

  #decode(): unknown {
    const { payload, eventId, eventType } = this.#data
    if (typeof payload !== 'string') return new Uint8Array(payload)
    try {
      return this.#codec.fromJson(payload)
    } catch {
      // The parser's message repeats parts of the payload, which must not reach a log.
      throw new PayloadParseError(`The payload of event ${eventId} (${eventType}) is not valid JSON.`)
    }
  }
}

/** The fields of an envelope. `undefined` counts as left out. */
type PlainFields = {
  readonly [Name in keyof Omit<EnvelopeOptions, 'eventType'>]: EnvelopeOptions[Name] | undefined
} & Pick<EnvelopeOptions, 'eventType'>

/** What an upgrade changes in an event. */
interface Rewriting {
  readonly eventType: string
  readonly aggregateType: string
  readonly payload?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

interface EnvelopeData {
  readonly eventId: string
  readonly eventType: string
  readonly aggregateType: string
  readonly aggregateId: string | null
  readonly tenantId: string | null
  readonly orderingKey: string | null
  readonly payload: string | Uint8Array
  readonly contentType: string | null
  readonly headers: string | null
  readonly occurredAt: number
  /** Only on events that are being written. `inMs` is set if the database's clock decides. */
  readonly due?: { readonly at: number; readonly inMs?: number } | undefined
  readonly idempotencyKey?: string | null
}

function usualContentType(payload: string | Uint8Array): string | null {
  return typeof payload === 'string' ? null : 'application/octet-stream'
}

function dueOf(
  occurredAt: number,
  now: number,
  availableAt: Date | undefined,
  deliverAfterMs: number | undefined,
): EnvelopeData['due'] {
  if (deliverAfterMs === undefined) return availableAt && { at: availableAt.getTime() }
  checkTime('deliverAfterMs', now + deliverAfterMs)
  return { at: occurredAt + deliverAfterMs, inMs: deliverAfterMs }
}

/** The last moment that a `Date` can represent. */
const maxDateMs = 8.64e15

// An operator may have changed a row by hand. A listener must not get half an event.
function checkReadable({ eventId, eventType, payload, occurredAt }: Row): void {
  const problem = !(Math.abs(occurredAt) <= maxDateMs)
    ? 'the time it occurred at is not a valid time'
    : typeof payload === 'string' || payload instanceof Uint8Array
      ? undefined
      : 'it has no payload'
  if (problem === undefined) return
  throw new PayloadParseError(
    `The row of event ${eventId} (${eventType}) cannot be read: ${problem}. Mend the row, and replay the event.`,
  )
}

function checkJson(json: unknown): void {
  if (typeof json !== 'string') throw invalid('needs JSON text as payloadJson.')
  try {
    JSON.parse(json)
  } catch {
    throw invalid('has a payloadJson that is not valid JSON.')
  }
}

function checkSize(eventType: string, payload: string | Uint8Array): void {
  // A UTF-16 unit has at most three bytes in UTF-8, so most texts need no counting.
  if (payload.length <= maxPayloadBytes / 3) return

  const size = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength
  if (size > maxPayloadBytes) {
    throw new OutboxError(
      'OUTBOX_PAYLOAD_TOO_LARGE',
      `The payload of a "${eventType}" event has ${size} bytes; at most ${maxPayloadBytes} are stored. ` +
        'Keep large content elsewhere and put a reference to it into the event.',
    )
  }
}

/**
 * The error for a payload that is nested too deeply. It also covers a failure to encode it as JSON for that
 * reason.
 */
export function payloadTooDeep(eventType: string, cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_PAYLOAD_TOO_DEEP',
    `The payload of a "${eventType}" event is nested deeper than ${maxPayloadDepth} levels. ` +
      'Write flatter data, or the text as bytes.',
    { cause },
  )
}

// Half a surrogate pair has no bytes in UTF-8, and a database would replace it. JSON can escape it.
function withoutHalves(json: string): string {
  if (json.isWellFormed()) return json
  return json.replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`)
}

function encodeHeaders(
  headers: Readonly<Record<string, string | undefined>>,
  refusal: Refusal = invalid,
): string | null {
  const json = JSON.stringify(headers)
  if (Buffer.byteLength(json) > maxHeaderBytes)
    throw refusal(`has more than ${maxHeaderBytes} bytes of headers.`)
  return json === '{}' ? null : json
}

function decodeHeaders(row: Row, codec: JsonCodec): Readonly<Record<string, string>> {
  try {
    return Object.freeze(JsonCodec.parseStringMap(row.headers, codec))
  } catch {
    throw new PayloadParseError(`The headers of event ${row.eventId} (${row.eventType}) cannot be read.`)
  }
}
