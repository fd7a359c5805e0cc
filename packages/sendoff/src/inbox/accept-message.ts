import { hash } from 'node:crypto'
import { kindOf } from '../options.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventFields } from '../event/event-fields.ts'
import type { EventType } from '../event/event-type.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import { encodeEvent } from '../write/encode-event.ts'
import { checkedMessageId, invalidMessage } from './message-id.ts'

/** The header of an accepted event that has the id of its message. */
export const messageIdHeader = 'sendoff-message-id'

/** A message that becomes an event. Its fields are those of the event, except the id. */
export interface InboxMessage extends Omit<
  EventFields,
  'eventId' | 'idempotencyKey' | 'availableAt' | 'deliverAfterMs'
> {
  /** The id that the sender gave the message. */
  readonly id: string
  /** The type of the event, by its name or as `defineEvent` made it. A schema checks the payload. */
  readonly type: string | EventType
  /** Any JSON value, or bytes. */
  readonly payload: unknown
}

/** What became of a message that was to be accepted. All of these may be acknowledged. */
export interface Acceptance {
  /**
   * `accepted`: the message is an event now. `duplicate`: it was accepted before. `suppressed`: the
   * `writerHook` of the outbox dropped it.
   */
  readonly outcome: 'accepted' | 'duplicate' | 'suppressed'
  /** The id of the event that the message has become; null if it was suppressed. */
  readonly eventId: string | null
}

/**
 * Makes the event of a message. Its id is its own, because ids of events are short. Its idempotency key
 * stands for consumer and message, so that a second event is never written.
 */
export async function eventOfMessage(
  consumer: string,
  message: InboxMessage,
  codec: JsonCodec,
  now: number,
): Promise<EventEnvelope> {
  if (typeof message !== 'object' || message === null) {
    throw invalidMessage(`accept takes a message with id, type and payload, not ${kindOf(message)}.`)
  }
  const { id, type, payload, headers, ...fields } = message
  const messageId = checkedMessageId(id)
  return await encodeEvent(
    type,
    payload,
    {
      ...fields,
      headers: { ...headers, [messageIdHeader]: messageId },
      idempotencyKey: `inbox:${consumer}:${hash('sha256', messageId, 'base64url')}`,
    },
    codec,
    now,
  )
}
