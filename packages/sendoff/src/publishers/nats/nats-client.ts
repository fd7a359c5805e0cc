/** A client of `@nats-io/jetstream`, as used here. */
export interface NatsJetStream {
  publish(subject: string, payload?: Uint8Array, options?: NatsPublishOptions): Promise<NatsAcknowledgement>
}

export interface NatsPublishOptions {
  readonly msgID?: string
  readonly timeout?: number
  readonly headers?: NatsMessageHeaders
  readonly expect?: { readonly streamName?: string }
}

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
