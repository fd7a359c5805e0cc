/**
 * The part of a connection of `amqplib` that is used here. It does not reconnect on its own, so a function
 * opens it.
 */
export interface AmqplibConnection {
  createConfirmChannel(): Promise<AmqplibConfirmChannel>
  on(event: 'error' | 'close', listener: (error?: Error) => void): unknown
  close(): Promise<void>
}

/** The part of a confirm channel of `amqplib` that is used here. */
export interface AmqplibConfirmChannel {
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options?: AmqplibMessageOptions,
    callback?: (error: unknown) => void,
  ): boolean
  on(event: 'error' | 'close', listener: (error?: Error) => void): unknown
  on(event: 'return', listener: (message: AmqplibReturnedMessage) => void): unknown
}

/** Options of a message in the form that `amqplib` takes. */
export interface AmqplibMessageOptions {
  /** Whether the broker returns a message that no queue is bound for. */
  readonly mandatory?: boolean
  /** Whether the message outlives a restart of the broker. */
  readonly persistent?: boolean
  /** The id of the message. */
  readonly messageId?: string
  /** The type of the message. */
  readonly type?: string
  /** The time of the message, in seconds since 1970. */
  readonly timestamp?: number
  /** The media type of the content. */
  readonly contentType?: string
  /** The headers of the message. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A message that the broker returned, as `amqplib` reports it. */
export interface AmqplibReturnedMessage {
  readonly properties: { readonly messageId?: unknown }
}

/** The part of a connection of `rabbitmq-client` that is used here. It reconnects on its own. */
export interface RabbitmqClientConnection {
  createPublisher(options: { readonly confirm: true; readonly maxAttempts: 1 }): RabbitmqClientPublisher
}

/** The part of a publisher of `rabbitmq-client` that is used here. */
export interface RabbitmqClientPublisher {
  send(envelope: RabbitmqClientEnvelope, body: Buffer): Promise<void>
  on(event: 'basic.return', listener: (message: { readonly messageId?: string }) => void): unknown
  close(): Promise<void>
}

/** A message without its body, in the form that `rabbitmq-client` takes. */
export interface RabbitmqClientEnvelope {
  readonly exchange: string
  readonly routingKey: string
  readonly mandatory: boolean
  readonly durable: true
  readonly messageId: string
  readonly type: string
  readonly timestamp: number
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
}
