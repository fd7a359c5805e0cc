/** A message for RabbitMQ, whatever the client. */
export interface RabbitmqMessage {
  readonly exchange: string
  readonly routingKey: string
  readonly mandatory: boolean
  readonly messageId: string
  readonly type: string
  /** In seconds, as AMQP defines it. */
  readonly timestamp: number
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/**
 * A client that resolves when the broker confirms a message, and rejects if the broker does not confirm it or
 * returns it.
 */
export interface RabbitmqSender {
  send(message: RabbitmqMessage): Promise<void>
  close(): Promise<void>
}

/** The broker confirmed a message that it has no queue for. */
export class UnroutableMessageError extends Error {
  override readonly name = 'UnroutableMessageError'

  constructor({ exchange, routingKey }: RabbitmqMessage) {
    super(
      `No queue is bound to exchange "${exchange}" for routing key "${routingKey}". ` +
        'Bind one, or set failOnUnroutable to false if such messages may get lost.',
    )
  }
}
