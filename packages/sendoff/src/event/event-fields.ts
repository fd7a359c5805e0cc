import { OutboxError } from '../errors.ts'
import { anything, checkOptions, isStorable, kindOf } from '../options.ts'
import type { TypeName } from '../store/index.ts'
import { maxDelayMs } from '../store/rows.ts'
import type { AggregateType } from './event-type.ts'
import { isVersion, versionHeader } from './event-versions.ts'

/** Fields of an event besides its type and payload. */
export interface EventFields {
  /** The id of the event, at most 36 characters. Default: a monotonic ULID. */
  readonly eventId?: string
  /** When the event happened. */
  readonly occurredAt?: Date
  /** The kind of thing the event is about. */
  readonly aggregateType?: string | AggregateType
  /** The thing the event is about. */
  readonly aggregateId?: string
  /** A name that the event carries along, to find it by. */
  readonly tenantId?: string
  /**
   * Modes that keep order deliver the events of one key in write order. Default: `aggregateType:aggregateId`.
   */
  readonly orderingKey?: string
  /** Names and values that the event carries along; publishers send them as headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** The event is not delivered before this time. */
  readonly availableAt?: Date
  /** The event is not delivered before this many milliseconds have passed, by the database's clock. */
  readonly deliverAfterMs?: number
  /** The media type of the payload. Default: none for JSON, `application/octet-stream` for bytes. */
  readonly contentType?: string
  /** A second write with the same key adds nothing and returns the first event's id. */
  readonly idempotencyKey?: string
}

const lengths = {
  eventId: 36,
  eventType: 128,
  aggregateType: 64,
  aggregateId: 128,
  tenantId: 64,
  orderingKey: 255,
  contentType: 128,
  idempotencyKey: 200,
} as const

const others = ['occurredAt', 'headers', 'availableAt', 'deliverAfterMs', 'payloadJson', 'payloadBytes']
const known = Object.fromEntries([...Object.keys(lengths), ...others].map((name) => [name, anything]))
const maxLengths: ReadonlyMap<string, number | undefined> = new Map([
  ...others.map((name) => [name, undefined] as const),
  ...Object.entries(lengths),
])

/**
 * Throws `OUTBOX_INVALID_EVENT` if a field breaks a rule. The error names the field. The rules are the same
 * for every store.
 */
export function checkFields(
  fields: { readonly [Name in keyof EventFields]: EventFields[Name] | undefined },
  eventType: string,
  aggregateType: string,
): void {
  checkNames({ eventType, aggregateType }, invalid)
  for (const name in fields) {
    const value = fields[name as keyof EventFields]
    if (value === undefined || name === 'eventType' || name === 'aggregateType') continue

    const maxLength = maxLengths.get(name)
    if (maxLength !== undefined) checkText(name, value, maxLength)
    else if (!maxLengths.has(name)) checkOptions('an event', fields, known)
  }

  const { occurredAt, availableAt, deliverAfterMs, headers } = fields
  if (occurredAt !== undefined) checkDate('occurredAt', occurredAt)
  if (availableAt !== undefined) checkDate('availableAt', availableAt)
  if (availableAt !== undefined && deliverAfterMs !== undefined) {
    throw invalid('has both availableAt and deliverAfterMs. Give one of them: a time, or a delay.')
  }
  if (availableAt !== undefined && occurredAt !== undefined && availableAt < occurredAt) {
    throw invalid('has an availableAt before its occurredAt.')
  }
  if (deliverAfterMs !== undefined && !(Number.isFinite(deliverAfterMs) && deliverAfterMs > 0)) {
    throw invalid(`needs a deliverAfterMs above 0, not ${kindOf(deliverAfterMs)}.`)
  }
  if (deliverAfterMs !== undefined && deliverAfterMs > maxDelayMs) {
    throw invalid(
      `has a deliverAfterMs of ${deliverAfterMs}; at most ${maxDelayMs}, a hundred years, are possible.`,
    )
  }
  if (headers !== undefined) checkHeaders(headers)
}

/** Makes the error for something that breaks a rule, from what is wrong with it. */
export type Refusal = (problem: string) => OutboxError

/** The error for an event that breaks a rule. */
export function invalid(problem: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_EVENT', `The event ${problem}`)
}

/** Throws for names under which no event can be stored. */
export function checkNames({ eventType, aggregateType }: TypeName, refusal: Refusal): void {
  checkText('eventType', eventType, lengths.eventType, refusal)
  checkText('aggregateType', aggregateType, lengths.aggregateType, refusal)
}

function checkText(name: string, value: unknown, maxLength: number, refusal: Refusal = invalid): void {
  if (typeof value !== 'string' || value === '')
    throw refusal(`needs a non-empty string as ${name}, not ${kindOf(value)}.`)
  if (value.length > maxLength) {
    throw refusal(`has a ${name} of ${value.length} characters; at most ${maxLength} are stored.`)
  }
  checkCharacters(name, value, refusal)
}

// All stores refuse what one store refuses.
function checkCharacters(name: string, value: string, refusal: Refusal): void {
  if (!isStorable(value)) {
    throw refusal(`has a NUL character or half a surrogate pair in its ${name}.`)
  }
}

function checkDate(name: string, value: unknown): void {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) {
    throw invalid(`needs a valid Date as ${name}, not ${kindOf(value)}.`)
  }
  checkTime(name, value.getTime())
}

/** Every store keeps times of these years exactly. The range is that of MySQL. */
export const earliestMs = Date.UTC(1000, 0, 1)
/** The last of these times. */
export const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Throws for a time that some store cannot keep. */
export function checkTime(name: string, ms: number): void {
  if (ms >= earliestMs && ms <= latestMs) return
  throw invalid(`has ${name} outside the years 1000 to 9999. Not every store can keep such a time.`)
}

/** Throws for headers that are not an object of strings. One that is `undefined` counts as left out. */
export function checkHeaders(headers: unknown, refusal: Refusal = invalid): void {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw refusal(`needs an object of strings as headers, not ${kindOf(headers)}.`)
  }
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue
    if (typeof value !== 'string') throw refusal(`needs a string as header "${name}", not ${kindOf(value)}.`)
    checkCharacters('headers', name, refusal)
    checkCharacters('headers', value, refusal)
    // A worker would wait for a version that no process will ever know.
    if (name === versionHeader && !isVersion(value)) {
      throw refusal(
        `needs a whole number of at least 1 as header "${versionHeader}": it is the version of the payload.`,
      )
    }
  }
}
