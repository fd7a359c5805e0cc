import { OutboxError } from '../errors.ts'
import { anything, callable, checkOptions, count, invalidOption, type OptionCheck, text } from '../options.ts'
import type { TypeName } from '../store/index.ts'
import { checkNames, type EventFields } from './event-fields.ts'
import {
  checkUpgrade,
  type EventVersions,
  type SchemaVersions,
  type TypedVersions,
  type UpgradeStep,
} from './event-versions.ts'
import type { SchemaInput, SchemaOutput, StandardSchema } from './standard-schema.ts'

/** The name of a kind of event. Any object with a `name` will do, such as a member of a constant map. */
export interface EventType {
  readonly name: string
}

/** An event type without a payload type. */
export type PlainEventType = EventType & { readonly of?: never }

/** The name of a kind of thing that events are about. */
export interface AggregateType {
  readonly name: string
}

/** The aggregate type of events that have no other. */
export const AggregateType = {
  GLOBAL: { name: '__GLOBAL__' },
} as const satisfies Record<string, AggregateType>

declare const payloadTypes: unique symbol

/** An event type with a payload type. A writer gives `Input`, and a listener gets `Output`. */
export interface DefinedEvent<Input, Output = Input> extends EventType, EventVersions {
  readonly [payloadTypes]?: (value: Input) => Output
  readonly aggregateType: string
  readonly schema: StandardSchema<Input, Output> | undefined
  readonly aggregateId: ((payload: Input) => string) | undefined
  readonly orderingKey: ((payload: Input) => string | undefined) | undefined
  /** The names under which older rows of this event are stored. */
  readonly aliases: readonly TypeName[]

  /** Makes an event for `writeAll`. */
  of(payload: Input, fields?: EventFields): EventToWrite
}

/** An event that is not in an envelope yet. */
export interface EventToWrite {
  readonly type: EventType
  readonly payload: unknown
  readonly fields?: EventFields | undefined
}

/** Options of `defineEvent`. */
export interface EventDefinition<Input> {
  readonly aggregateType?: string | AggregateType
  /** Reads the id of the thing the event is about from the payload. */
  readonly aggregateId?: (payload: Input) => string
  /**
   * Reads the ordering key from the payload. Modes that keep order deliver the events of one key in write
   * order.
   */
  readonly orderingKey?: (payload: Input) => string | undefined
  /**
   * Former names of this event: rows that are stored under one of them go to the listener of this event. Each
   * is a name of the same aggregate type, or both names.
   */
  readonly aliases?: readonly (string | TypeName)[]
}

/**
 * Defines an event type with a schema. The payload is typed from the schema, and checked when it is written
 * and when it is read. The schema's input is stored; a listener gets its output.
 */
export function defineEvent<
  Schema extends StandardSchema,
  const Version extends number = 1,
  V2 = unknown,
  V3 = unknown,
  V4 = unknown,
  V5 = unknown,
  V6 = unknown,
  V7 = unknown,
  V8 = unknown,
  V9 = unknown,
>(
  name: string,
  definition: EventDefinition<SchemaInput<Schema>> & { readonly schema: Schema } & SchemaVersions<
      Version,
      SchemaInput<Schema>,
      V2,
      V3,
      V4,
      V5,
      V6,
      V7,
      V8,
      V9
    >,
): DefinedEvent<SchemaInput<Schema>, SchemaOutput<Schema>>
/** Defines an event type by a TypeScript type alone: `defineEvent<OrderPlaced>('OrderPlaced')`. */
export function defineEvent<Payload>(
  name: string,
  definition?: EventDefinition<Payload> & TypedVersions<Payload>,
): DefinedEvent<Payload>
export function defineEvent(
  name: string,
  definition: EventDefinition<unknown> & {
    readonly schema?: StandardSchema
    readonly version?: number | undefined
    readonly upgrade?: Readonly<Record<number, UpgradeStep | undefined>>
  } = {},
): DefinedEvent<unknown> {
  if (text(name) !== undefined) throw invalidOption('defineEvent', 'name', name, text)
  checkOptions(`event "${name}"`, definition, {
    aggregateType: anything,
    aggregateId: callable,
    orderingKey: callable,
    schema: anything,
    version: count,
    upgrade: anything,
    aliases: listOfNames,
  })
  const { aggregateType = AggregateType.GLOBAL, aggregateId, orderingKey, schema, version } = definition
  checkUpgrade(name, version, definition.upgrade)
  if (schema !== undefined && typeof schema['~standard']?.validate !== 'function') {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `The schema of event "${name}" is not a Standard Schema. Use one of zod, valibot, arktype or another library that implements it.`,
    )
  }

  checkStorable(`Event "${name}"`, { eventType: name, aggregateType: nameOf(aggregateType) })
  const type: DefinedEvent<unknown> = Object.freeze({
    name,
    aggregateType: nameOf(aggregateType),
    schema,
    aggregateId,
    orderingKey,
    version,
    upgrade: Object.freeze({ ...definition.upgrade }) as Readonly<Record<number, UpgradeStep>>,
    aliases: aliasesOf(name, nameOf(aggregateType), definition.aliases ?? []),
    of: (payload: unknown, fields?: EventFields): EventToWrite => ({ type, payload, fields }),
  })
  return type
}

/** The name of a type that is given as a name or as an object. */
export function nameOf(type: string | EventType | AggregateType): string {
  return typeof type === 'string' ? type : type.name
}

/** Whether a value comes from `defineEvent`. */
export function isDefinedEvent(type: unknown): type is DefinedEvent<unknown> {
  return typeof type === 'object' && type !== null && typeof (type as { of?: unknown }).of === 'function'
}

/** Whether a value is an event that is not in an envelope yet. */
export function isEventToWrite(value: unknown): value is EventToWrite {
  if (typeof value !== 'object' || value === null || !('type' in value) || !('payload' in value)) return false
  return typeof (value.type as EventType | null)?.name === 'string'
}

const listOfNames: OptionCheck = (value) => (Array.isArray(value) ? undefined : 'a list of former names')

/** Throws for names that the write would refuse. */
function checkStorable(what: string, names: TypeName): void {
  checkNames(names, (problem) => new OutboxError('OUTBOX_INVALID_OPTION', `${what} ${problem}`))
}

function aliasesOf(
  name: string,
  aggregateType: string,
  aliases: readonly (string | TypeName)[],
): readonly TypeName[] {
  const known = new Set([`${aggregateType}:${name}`])
  return Object.freeze(
    aliases.map((alias) => {
      const former = typeof alias === 'string' ? { aggregateType, eventType: alias } : { ...alias }
      checkStorable(`An alias of event "${name}"`, former)
      const address = `${former.aggregateType}:${former.eventType}`
      if (known.has(address)) {
        throw new OutboxError(
          'OUTBOX_INVALID_OPTION',
          `Event "${name}" has the alias "${former.eventType}" of aggregate type "${former.aggregateType}" twice, or it is the event's own name. Remove it.`,
        )
      }
      known.add(address)
      return Object.freeze({ aggregateType: former.aggregateType, eventType: former.eventType })
    }),
  )
}
