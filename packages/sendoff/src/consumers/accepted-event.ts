import { OutboxError } from '../errors.ts'
import type { InboxMessage } from '../inbox/index.ts'
import { type ConsumedMessage, fieldsForAccept, tracedHeaders } from './consumed-message.ts'

/** The event that a message becomes. Its id is that of the message. */
export type AcceptedEvent = Omit<InboxMessage, 'id'>

/** Makes the event of a message. */
export type AcceptMessage = (message: ConsumedMessage) => AcceptedEvent

/** Makes an event with type, payload, key, headers and time of a message. Throws if it has no type. */
export function acceptedEvent(message: ConsumedMessage): AcceptedEvent {
  const { type, payload, key, headers, contentType } = message
  if (type === undefined) {
    throw new OutboxError(
      'OUTBOX_INVALID_MESSAGE',
      `A message from "${message.source}" has no type, so it cannot become an event. ` +
        'Give the option "accept" a function that returns type and payload of the event.',
    )
  }
  const { aggregateId, occurredAt } = fieldsForAccept(message)
  const time = occurredAt === undefined ? NaN : Date.parse(occurredAt)
  return {
    type,
    payload,
    headers: withoutFields(tracedHeaders(message)),
    ...optional('aggregateType', headers['aggregate-type']),
    ...optional('aggregateId', aggregateId),
    ...optional('tenantId', headers['tenant-id']),
    ...optional('orderingKey', key ?? undefined),
    ...(payload instanceof Uint8Array && optional('contentType', contentType)),
    ...(!Number.isNaN(time) && { occurredAt: new Date(time) }),
  }
}

/** Headers that are fields of the event, or that only the transport needs. */
const fieldHeaders =
  /^(?:event-id|event-type|aggregate-type|aggregate-id|tenant-id|occurred-at|content-type|nats-.*|webhook-.*|ce[-_].*|cloudevents[:_].*)$/

function withoutFields(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !fieldHeaders.test(name)))
}

function optional<Name extends string>(
  name: Name,
  value: string | undefined,
): { readonly [Key in Name]?: string } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: string }
}
