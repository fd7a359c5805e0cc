/** The part of a client of `@nats-io/jetstream` that is used here. */
export interface NatsJetStream {
  publish(subject: string, payload?: Uint8Array, options?: NatsPublishOptions): Promise<NatsAcknowledgement>
}

/** Options of `publish` of JetStream. */
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

/** The acknowledgement of a stream. */
export interface NatsAcknowledgement {
  readonly stream: string
  readonly seq: number
}

/** The part of a message's headers that the client needs: it adds some of its own, and encodes all. */
export interface NatsMessageHeaders {
  get(name: string): string
  set(name: string, value: string): void
  has(name: string): boolean
  keys(): string[]
}
