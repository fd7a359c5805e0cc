/** A client of `@nats-io/jetstream`, as used here. */
export interface NatsJetStream {
  publish(subject: string, payload?: Uint8Array, options?: NatsPublishOptions): Promise<NatsAcknowledgement>
}

/** Options of a JetStream client's `publish`. */
export interface NatsPublishOptions {
  /** The id by which the stream drops repeated messages. */
  readonly msgID?: string
  /** How long the client waits for the acknowledgement, in milliseconds. */
  readonly timeout?: number
  /** The headers of the message. */
  readonly headers?: NatsMessageHeaders
  /** The stream that has to store the message. */
  readonly expect?: { readonly streamName?: string }
}

/** The acknowledgement of a stream that has stored a message. */
export interface NatsAcknowledgement {
  readonly stream: string
  readonly seq: number
}

/** What the client needs of a message's headers: it adds some of its own, and encodes all. */
export interface NatsMessageHeaders {
  get(name: string): string
  set(name: string, value: string): void
  has(name: string): boolean
  keys(): string[]
}
