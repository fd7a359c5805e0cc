import { setImmediate } from 'node:timers/promises'
import type { RabbitmqClientConnection, RabbitmqClientPublisher } from './rabbitmq-client.ts'
import { type RabbitmqMessage, type RabbitmqSender, UnroutableMessageError } from './rabbitmq-message.ts'

/** Sends over a connection of `rabbitmq-client`, on a channel of its own with confirms. */
export class RabbitmqClientSender implements RabbitmqSender {
  readonly #publisher: RabbitmqClientPublisher
  readonly #returned = new Set<string>()

  constructor(connection: RabbitmqClientConnection) {
    this.#publisher = connection.createPublisher({ confirm: true, maxAttempts: 1 })
    this.#publisher.on('basic.return', ({ messageId }) => void this.#returned.add(String(messageId)))
  }

  async send(message: RabbitmqMessage): Promise<void> {
    const { body, ...envelope } = message
    // Left over from an earlier call that was given up before its message was returned.
    this.#returned.delete(message.messageId)
    await this.#publisher.send({ ...envelope, durable: true }, body)
    // The broker returns a message before it confirms it, but the client reports the return one turn later.
    if (message.mandatory) await setImmediate()
    if (this.#returned.delete(message.messageId)) throw new UnroutableMessageError(message)
  }

  close(): Promise<void> {
    return this.#publisher.close()
  }
}
