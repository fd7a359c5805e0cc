import { OutboxError } from '../errors.ts'
import { anything, callable, checkOptions, invalidOption, text } from '../options.ts'
import type { EventFields } from './event-fields.ts'
import type { SchemaInput, SchemaOutput, StandardSchema } from './standard-schema.ts'

/** Names a kind of event. Any object with a `name` will do, such as the members of a constant map. */
export interface EventType {
  readonly name: string
}

/** An event type that knows nothing of its payload. */
export type PlainEventType = EventType & { readonly of?: never }

/** Names a kind of thing that events are about. */
export interface AggregateType {
  readonly name: string
}

/** The aggregate type of events that name none. */
export const AggregateType = {
  GLOBAL: { name: '__GLOBAL__' },
} as const satisfies Record<string, AggregateType>

declare const payloadTypes: unique symbol

/** An event type that knows its payload: `Input` is what is written, `Output` what a listener gets. */
export interface DefinedEvent<Input, Output = Input> extends EventType {
  readonly [payloadTypes]?: (value: Input) => Output
  readonly aggregateType: string
  readonly schema: StandardSchema<Input, Output> | undefined
  readonly aggregateId: ((payload: Input) => string) | undefined
  readonly orderingKey: ((payload: Input) => string | undefined) | undefined

  /** An event to be written, for `writeAll`. */
  of(payload: Input, fields?: EventFields): EventToWrite
}

/** A payload on its way into an envelope. */
export interface EventToWrite {
  readonly type: EventType
  readonly payload: unknown
  readonly fields?: EventFields | undefined
}

export interface EventDefinition<Input> {
  readonly aggregateType?: string | AggregateType
  /** What the event is about, read from its payload. */
  readonly aggregateId?: (payload: Input) => string
  /** Events of one key are delivered in write order by the ordered modes. */
  readonly orderingKey?: (payload: Input) => string | undefined
}

/**
 * Defines an event type whose payload is typed from its schema, checked when it is written and
 * again when it is read. The schema's input is what is stored, its output what a listener gets.
 */
export function defineEvent<Schema extends StandardSchema>(
  name: string,
  definition: EventDefinition<SchemaInput<Schema>> & { readonly schema: Schema },
): DefinedEvent<SchemaInput<Schema>, SchemaOutput<Schema>>
/** Defines an event type by a TypeScript type alone: `defineEvent<OrderPlaced>('OrderPlaced')`. */
export function defineEvent<Payload>(
  name: string,
  definition?: EventDefinition<Payload>,
): DefinedEvent<Payload>
export function defineEvent(
  name: string,
  definition: EventDefinition<unknown> & { readonly schema?: StandardSchema } = {},
): DefinedEvent<unknown> {
  if (text(name) !== undefined) throw invalidOption('defineEvent', 'name', name, text)
  checkOptions(`event "${name}"`, definition, {
    aggregateType: anything,
    aggregateId: callable,
    orderingKey: callable,
    schema: anything,
  })
  const { aggregateType = AggregateType.GLOBAL, aggregateId, orderingKey, schema } = definition
  if (schema !== undefined && typeof schema['~standard']?.validate !== 'function') {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `The schema of event "${name}" is not a Standard Schema. Use one of zod, valibot, arktype or another library that implements it.`,
    )
  }

  const type: DefinedEvent<unknown> = Object.freeze({
    name,
    aggregateType: nameOf(aggregateType),
    schema,
    aggregateId,
    orderingKey,
    of: (payload: unknown, fields?: EventFields): EventToWrite => ({ type, payload, fields }),
  })
  return type
}

export function nameOf(type: string | EventType | AggregateType): string {
  return typeof type === 'string' ? type : type.name
}

export function isDefinedEvent(type: unknown): type is DefinedEvent<unknown> {
  return typeof type === 'object' && type !== null && typeof (type as { of?: unknown }).of === 'function'
}

export function isEventToWrite(value: unknown): value is EventToWrite {
  if (typeof value !== 'object' || value === null || !('type' in value) || !('payload' in value)) return false
  return typeof (value.type as EventType | null)?.name === 'string'
}
