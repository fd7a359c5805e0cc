/** The part of a connection of `amqplib` that is used here. */
export interface AmqplibConsumerConnection {
  createChannel(): Promise<AmqplibChannel>
  on(event: 'error' | 'close', listener: (error?: Error) => void): unknown
  close(): Promise<void>
}

/** The part of a channel of `amqplib` that is used here. */
export interface AmqplibChannel {
  prefetch(count: number): Promise<unknown>
  consume(
    queue: string,
    onMessage: (message: AmqplibMessage | null) => void,
    options?: { readonly noAck?: boolean },
  ): Promise<{ readonly consumerTag: string }>
  cancel(consumerTag: string): Promise<unknown>
  // Written as methods: the client's own type of a message is wider.
  ack(message: AmqplibMessage): void
  nack(message: AmqplibMessage, allUpTo?: boolean, requeue?: boolean): void
  on(event: 'error' | 'close', listener: (error?: Error) => void): unknown
  close(): Promise<void>
}

/** A message as `amqplib` delivers it. */
export interface AmqplibMessage {
  readonly content: Buffer
  readonly fields: { readonly deliveryTag: number; readonly redelivered: boolean }
  readonly properties: {
    readonly headers?: Readonly<Record<string, unknown>> | undefined
    readonly contentType?: unknown
    readonly messageId?: unknown
    readonly type?: unknown
  }
}

/** The part of a connection of `rabbitmq-client` that is used here. It reconnects on its own. */
export interface RabbitmqClientConsumerConnection {
  createConsumer(
    options: RabbitmqClientConsumerOptions,
    handler: (message: RabbitmqClientMessage) => Promise<number>,
  ): RabbitmqClientConsumer
}

/** Options of `createConsumer` of `rabbitmq-client`. */
export interface RabbitmqClientConsumerOptions {
  /** The name of the queue. */
  readonly queue: string
  /** How many messages the broker sends ahead. */
  readonly qos: { readonly prefetchCount: number }
  /** Requires that the queue exists, and does not create it. */
  readonly queueOptions: { readonly queue: string; readonly passive: true }
  /** Returns a message to the queue if its handler rejects. */
  readonly requeue: true
}

/** The part of a consumer of `rabbitmq-client` that is used here. */
export interface RabbitmqClientConsumer {
  on(event: 'ready', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  close(): Promise<void>
}

/** A message as `rabbitmq-client` delivers it. It has parsed JSON and text already. */
export interface RabbitmqClientMessage {
  readonly body: unknown
  readonly deliveryTag: number
  readonly headers?: Readonly<Record<string, unknown>> | undefined
  readonly contentType?: string | undefined
  readonly messageId?: string | undefined
  readonly type?: string | undefined
}

/** A connection of `rabbitmq-client`, or a function that opens one of `amqplib`. */
export type RabbitmqConsumerConnection =
  RabbitmqClientConsumerConnection | (() => AmqplibConsumerConnection | Promise<AmqplibConsumerConnection>)
