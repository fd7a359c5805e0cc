import type { AmqplibConfirmChannel, AmqplibConnection } from './rabbitmq-client.ts'
import { type RabbitmqMessage, type RabbitmqSender, UnroutableMessageError } from './rabbitmq-message.ts'

/**
 * Sends over a connection of `amqplib`. It opens the connection at the first message, and again after a loss.
 */
export class AmqplibSender implements RabbitmqSender {
  readonly #connect: () => AmqplibConnection | Promise<AmqplibConnection>
  #link: Promise<Link> | undefined
  #connection: Promise<AmqplibConnection> | undefined
  #openLink: Link | undefined

  constructor(connect: () => AmqplibConnection | Promise<AmqplibConnection>) {
    this.#connect = connect
  }

  async send(message: RabbitmqMessage): Promise<void> {
    const link = await (this.#link ??= this.#open())
    await link.send(message)
  }

  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined)
    this.#connection = undefined
    this.#link = undefined
    await connection?.close()
  }

  async #open(): Promise<Link> {
    try {
      const connection = await (this.#connection ??= this.#openConnection())
      const channel = await connection.createConfirmChannel()
      const link = new Link(channel, () => (this.#link = undefined))
      this.#openLink = link
      return link
    } catch (error) {
      this.#link = undefined
      throw error
    }
  }

  async #openConnection(): Promise<AmqplibConnection> {
    const forget = (): void => {
      this.#connection = undefined
      this.#link = undefined
    }
    try {
      const connection = await this.#connect()
      // One listener for all successive channels: otherwise each channel would leave one behind.
      connection.on('error', (error) => this.#openLink?.connectionFailed(error))
      connection.on('close', forget)
      return connection
    } catch (error) {
      forget()
      throw error
    }
  }
}

/** A channel and the messages that are on their way through it. */
class Link {
  readonly #channel: AmqplibConfirmChannel
  readonly #returned = new Set<string>()
  readonly #rejections = new Set<(error: Error) => void>()
  #lastError: Error | undefined

  constructor(channel: AmqplibConfirmChannel, onLost: () => void) {
    this.#channel = channel
    // The channel reports only its own errors, the connection all others.
    channel.on('error', (error) => (this.#lastError = error))
    channel.on('return', ({ properties }) => void this.#returned.add(String(properties.messageId)))
    channel.on('close', () => {
      onLost()
      const error = this.#lastError ?? new Error('The channel was closed.')
      for (const reject of this.#rejections) reject(error)
    })
  }

  /** Records why the channel is about to close. */
  connectionFailed(error: Error | undefined): void {
    this.#lastError ??= error
  }

  send(message: RabbitmqMessage): Promise<void> {
    const { exchange, routingKey, body, ...options } = message
    return new Promise((resolve, reject) => {
      this.#rejections.add(reject)
      const onAnswer = (error: unknown): void => {
        this.#rejections.delete(reject)
        const wasReturned = this.#returned.delete(message.messageId)
        if (error) reject(this.#lastError ?? (error as Error))
        else if (wasReturned) reject(new UnroutableMessageError(message))
        else resolve()
      }
      try {
        this.#channel.publish(exchange, routingKey, body, { ...options, persistent: true }, onAnswer)
      } catch (error) {
        this.#rejections.delete(reject)
        reject(error)
      }
    })
  }
}
