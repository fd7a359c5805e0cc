/** The part of a pull consumer of `@nats-io/jetstream` that is used here. */
export interface NatsConsumer {
  info(): Promise<NatsConsumerInfo>
  fetch(options: { max_messages: number; expires: number }): Promise<NatsMessages>
}

/** What a consumer of JetStream says of itself. */
export interface NatsConsumerInfo {
  readonly stream_name: string
  readonly config: { readonly ack_wait?: number; readonly ack_policy?: string }
}

/** The part of a manager of `@nats-io/jetstream` that is used here: `jetstreamManager(connection)`. */
export interface NatsManager {
  readonly streams: { info(stream: string): Promise<{ readonly config: { readonly max_age: number } }> }
}

/** The messages of one request. */
export interface NatsMessages extends AsyncIterable<NatsMessage> {
  stop(error?: Error): void
}

/** A message as `@nats-io/jetstream` delivers it. */
export interface NatsMessage {
  readonly subject: string
  readonly seq: number
  readonly data: Uint8Array
  readonly headers?: NatsReceivedHeaders | undefined
  ackAck(): Promise<boolean>
  nak(delayMs?: number): void
  working(): void
  term(): void
}

/** The headers of a message. */
export interface NatsReceivedHeaders {
  keys(): string[]
  last(name: string): string
}
