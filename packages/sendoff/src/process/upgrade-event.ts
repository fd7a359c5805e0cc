import { OutboxError, PayloadParseError, RecoverableError } from '../errors.ts'
import { encodePayload } from '../event/encode-payload.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { DefinedEvent } from '../event/event-type.ts'
import { versionHeader } from '../event/event-versions.ts'
import type { JsonCodec } from '../event/json-codec.ts'

type Definition = DefinedEvent<unknown>

/** Whether an event is stored under the name and with the version of its definition. */
export function isCurrent(event: EventEnvelope, definition: Definition | undefined): boolean {
  if (definition === undefined) return true
  return (
    event.version === newestOf(definition) && (definition.aliases.length === 0 || hasName(event, definition))
  )
}

/** Whether an event has a version that this process does not know. */
export function isTooNew(event: EventEnvelope, definition: Definition): boolean {
  return event.version > newestOf(definition)
}

/**
 * Returns an event of an older version as if it had been written with its definition: its name, its version,
 * and the payload that the steps make. The ordering key stays as it is. Throws `OUTBOX_UPGRADE_FAILED` if a
 * step fails, and what a step throws if that is an error of this library.
 */
export function upgradeEvent(event: EventEnvelope, definition: Definition, codec: JsonCodec): EventEnvelope {
  const { name, aggregateType, version, upgrade } = definition
  if (Number.isNaN(event.version)) throw unreadableVersion(event)

  const newest = newestOf(definition)
  let payload: unknown
  for (let from = event.version; from < newest; from += 1) {
    try {
      payload = upgrade[from]!((from === event.version ? event.payload : payload) as never)
      if (payload instanceof Promise) throw isPromise(payload)
    } catch (error) {
      throw error instanceof OutboxError ? error : stepFailed(event, definition, from, error)
    }
  }
  try {
    return event.rewritten({
      eventType: name,
      aggregateType,
      ...(event.version < newest && { payload: encodePayload(name, payload, codec) }),
      ...(version !== undefined && { headers: { ...event.headers, [versionHeader]: String(version) } }),
    })
  } catch (error) {
    throw stepFailed(event, definition, newest - 1, error)
  }
}

/** The error for an event that a step has made, but that its schema refuses. A deploy can mend the step. */
export function unfitUpgrade(event: EventEnvelope, definition: Definition, issues: string): RecoverableError {
  return upgradeFailed(
    `Event ${event.eventId} (${definition.name}) does not fit its schema after its upgrade to version ${newestOf(definition)}: ${issues}. Mend the step, and deploy.`,
  )
}

function newestOf({ version = 1 }: Definition): number {
  return version
}

function hasName({ eventType, aggregateType }: EventEnvelope, definition: Definition): boolean {
  return eventType === definition.name && aggregateType === definition.aggregateType
}

function stepFailed({ eventId }: EventEnvelope, { name }: Definition, from: number, cause: unknown) {
  return upgradeFailed(
    `The upgrade of event ${eventId} (${name}) from version ${from} to ${from + 1} failed. Mend the step, and deploy.`,
    { cause },
  )
}

// A step that waits could wait for ever, and would run again with each attempt.
function isPromise(payload: Promise<unknown>): TypeError {
  payload.catch(() => {})
  return new TypeError('the step returned a promise; a step has to return the payload itself')
}

function upgradeFailed(message: string, options?: ErrorOptions): RecoverableError {
  return new RecoverableError(message, options, 'OUTBOX_UPGRADE_FAILED')
}

function unreadableVersion({ eventId, eventType }: EventEnvelope): PayloadParseError {
  return new PayloadParseError(
    `The row of event ${eventId} (${eventType}) cannot be read: its header "${versionHeader}" is not a whole number of at least 1. Mend the row, and replay the event.`,
  )
}
