import { OutboxError } from '../errors.ts'
import { isStorable, kindOf } from '../options.ts'
import { maxMessageIdLength } from '../store/index.ts'

/** A message, by the id that its sender gave it, or an event as a listener gets it. */
export type MessageId = string | EventMessage

/** An event as a message of an inbox. */
export interface EventMessage {
  readonly eventId: string
  readonly eventType?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns the id of a message. Throws `OUTBOX_INVALID_MESSAGE` if it cannot be stored. */
export function checkedMessageId(message: unknown): string {
  const id =
    typeof message === 'object' && message !== null ? (message as { eventId?: unknown }).eventId : message
  if (typeof id !== 'string' || id === '') {
    throw invalidMessage(
      `The message needs a non-empty string as its id, not ${kindOf(id)}. Without an id, a message that comes twice ` +
        'cannot be recognised: take the id from a header, or make one from fields that are the same each time.',
    )
  }
  if (id.length > maxMessageIdLength) {
    throw invalidMessage(
      `The id of the message has ${id.length} characters; at most ${maxMessageIdLength} are stored. Use a hash of it.`,
    )
  }
  if (!isStorable(id)) {
    throw invalidMessage(
      'The id of the message has a NUL character or half a surrogate pair. Use a hash of it.',
    )
  }
  return id
}

/** The error for a message that cannot be processed. No other attempt will succeed. */
export function invalidMessage(problem: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_MESSAGE', problem)
}
