import { hash } from 'node:crypto'
import { OutboxError, PayloadParseError } from '../errors.ts'
import { maxMessageIdLength } from '../store/index.ts'
import { cloudEventOf, type ReceivedCloudEvent } from './cloud-event-of.ts'
import type { IncomingMessage } from './incoming-message.ts'

/** Reads the id of a message. Returns undefined if the message has none. */
export type ReadMessageId = (message: UnidentifiedMessage) => string | undefined

/** A message whose id is not known yet. */
export type UnidentifiedMessage = Omit<ConsumedMessage, 'id'>

/** A message as a handler gets it. */
export interface ConsumedMessage {
  /** The id that the sender gave it. */
  readonly id: string
  /** The type that the sender gave it: that of the event, or of the CloudEvent. */
  readonly type: string | undefined
  /** Where it came from: a topic, a queue, a subject, a stream or the path of a webhook. */
  readonly source: string
  /** The headers; their names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The media type of the payload. */
  readonly contentType: string | undefined
  /**
   * The body as it came. `rabbitmq-client` parses bodies of the type `application/json` by itself; these are
   * written anew from their value.
   */
  readonly body: Buffer
  /** The key that the sender gave it, for order. */
  readonly key: string | null
  /**
   * The content: a JSON value if the content type says so or is missing, the data of a structured CloudEvent,
   * and bytes otherwise. Throws `PayloadParseError` if it cannot be read.
   */
  readonly payload: unknown
}

/** Makes the message for a handler. Throws `OUTBOX_INVALID_MESSAGE` if it has no id. */
export function consumedMessage(
  incoming: IncomingMessage,
  readId: ReadMessageId | undefined,
): ConsumedMessage {
  const message = new ReceivedMessage(incoming)
  const id = readId === undefined ? message.usualId() : readId(message)
  if (typeof id !== 'string' || id === '') throw withoutId(incoming, readId !== undefined)
  message.id = id
  return message
}

class ReceivedMessage implements ConsumedMessage {
  id = ''
  readonly #incoming: IncomingMessage
  readonly #cloudEvent: ReceivedCloudEvent | undefined
  #payload: { readonly value: unknown } | undefined

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming
    try {
      this.#cloudEvent = cloudEventOf(incoming)
    } catch {
      throw new OutboxError(
        'OUTBOX_INVALID_MESSAGE',
        `${nameOf(incoming)} has the content type of a CloudEvent, but is not JSON.`,
      )
    }
  }

  get type(): string | undefined {
    return this.headers['event-type'] ?? this.#cloudEvent?.type ?? this.#incoming.brokerType
  }

  get source(): string {
    return this.#incoming.source
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#incoming.headers
  }

  get contentType(): string | undefined {
    const content = this.#cloudEvent?.content
    return content === undefined ? this.#incoming.contentType : content.contentType
  }

  get body(): Buffer {
    return this.#incoming.body
  }

  get key(): string | null {
    return this.#incoming.key ?? this.#cloudEvent?.partitionKey ?? null
  }

  get payload(): unknown {
    this.#payload ??= { value: this.#readPayload() }
    return this.#payload.value
  }

  /** Returns the subject of a CloudEvent, or the thing that an event is about. */
  get aggregateId(): string | undefined {
    return this.headers['aggregate-id'] ?? this.#cloudEvent?.subject
  }

  get occurredAt(): string | undefined {
    return this.headers['occurred-at'] ?? this.#cloudEvent?.time
  }

  /** Returns the headers, with the trace that a CloudEvent may carry in its attributes. */
  get tracedHeaders(): Readonly<Record<string, string>> {
    const { headers } = this
    const trace = headers['traceparent'] === undefined ? this.#cloudEvent?.trace : undefined
    return trace === undefined ? headers : { ...headers, ...trace }
  }

  /** Returns the id that publishers of this package write, or a CloudEvent has, or the broker carries. */
  usualId(): string | undefined {
    const eventId = this.headers['event-id']
    if (eventId !== undefined) return eventId
    const { id, source } = this.#cloudEvent ?? {}
    if (id === undefined) return this.#incoming.brokerId
    // Ids of CloudEvents are unique only together with their source.
    const both = source === undefined ? id : `${source} ${id}`
    return both.length <= maxMessageIdLength ? both : hash('sha256', both, 'base64url')
  }

  #readPayload(): unknown {
    const content = this.#cloudEvent?.content
    if (content !== undefined) return content.data
    const { json, contentType } = this.#incoming
    if (json !== undefined) return json.value
    const { body } = this.#incoming
    if (contentType !== undefined && !/^[^;]*[/+]json\b/i.test(contentType)) return body
    // Kafka has messages without a value.
    if (body.length === 0) return null
    try {
      return JSON.parse(body.toString())
    } catch (error) {
      throw new PayloadParseError(`The body of ${nameOf(this.#incoming)} is not JSON.`, { cause: error })
    }
  }
}

/** Fields of a message that only `acceptedEvent` needs. */
export function fieldsForAccept(message: ConsumedMessage): {
  readonly aggregateId: string | undefined
  readonly occurredAt: string | undefined
} {
  return message instanceof ReceivedMessage
    ? { aggregateId: message.aggregateId, occurredAt: message.occurredAt }
    : { aggregateId: undefined, occurredAt: undefined }
}

/** Returns the headers of a message, with the trace of its sender wherever that is. */
export function tracedHeaders(message: ConsumedMessage): Readonly<Record<string, string>> {
  return message instanceof ReceivedMessage ? message.tracedHeaders : message.headers
}

/** Names a message in the log, without its content. */
export function nameOf({ source, place }: IncomingMessage): string {
  return place === undefined ? `A message from "${source}"` : `The message ${place} from "${source}"`
}

function withoutId(incoming: IncomingMessage, isOfUser: boolean): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_MESSAGE',
    `${nameOf(incoming)} has no id, so it could not be recognised if it came twice. ` +
      (isOfUser
        ? 'The function "messageId" has to return a non-empty string.'
        : 'It has neither "event-id" nor the id of a CloudEvent. Give the function "messageId", which makes an id from the message.'),
  )
}
