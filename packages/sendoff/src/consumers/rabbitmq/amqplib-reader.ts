import { inTime } from '../../answers.ts'
import type { Reader } from '../message-consumer.ts'
import type { MessageRuns } from '../message-runs.ts'
import { Reconnection } from '../reconnection.ts'
import type { AmqplibChannel, AmqplibConsumerConnection, AmqplibMessage } from './rabbitmq-client.ts'
import { answerTo, rabbitmqMessage, type RabbitmqReaderOptions } from './rabbitmq-delivery.ts'

/** Reads with `amqplib`, over a connection of its own that it opens again after a loss. */
export class AmqplibReader implements Reader {
  readonly #connect: () => AmqplibConsumerConnection | Promise<AmqplibConsumerConnection>
  readonly #options: RabbitmqReaderOptions
  readonly #runs: MessageRuns
  readonly #reconnection: Reconnection
  #link: Link | undefined

  constructor(
    connect: () => AmqplibConsumerConnection | Promise<AmqplibConsumerConnection>,
    runs: MessageRuns,
    options: RabbitmqReaderOptions,
  ) {
    this.#connect = connect
    this.#runs = runs
    this.#options = options
    this.#reconnection = new Reconnection(runs, () => this.#open())
  }

  start(): Promise<void> {
    return this.#open()
  }

  async stop(): Promise<void> {
    await this.#link?.cancel()
  }

  async finish(): Promise<void> {
    const link = this.#link
    this.#link = undefined
    await link?.close()
  }

  async #open(): Promise<void> {
    const connection = await this.#connected()
    const link: Link = new Link(connection, {
      onMessage: (channel, message) => void this.#take(channel, message),
      onLost: (error) => {
        if (this.#link === link) {
          this.#link = undefined
          void link.close()
          this.#reconnection.lost(error)
        }
      },
    })
    try {
      await link.consume(this.#options)
    } catch (error) {
      await link.close()
      throw error
    }
    this.#link = link
    if (this.#runs.closing.aborted) await this.finish()
    else this.#reconnection.restored()
  }

  // A network that loses everything leaves a handshake without an end.
  async #connected(): Promise<AmqplibConsumerConnection> {
    const connecting = Promise.resolve(this.#connect())
    try {
      return await inTime(openMs, () => connecting)
    } catch (error) {
      void connecting.then((late) => late.close()).catch(() => {})
      throw error
    }
  }

  async #take(channel: AmqplibChannel, delivery: AmqplibMessage): Promise<void> {
    const { properties, fields, content } = delivery
    const message = rabbitmqMessage(this.#options.queue, fields.deliveryTag, properties, content)
    const answer = await answerTo(message, this.#runs, this.#options)
    try {
      if (answer === 'ack') channel.ack(delivery)
      else channel.nack(delivery, false, answer === 'requeue')
    } catch {
      // The channel is closed. The broker delivers the message again, and the inbox knows it.
    }
  }
}

/** How long each step of opening may take, in milliseconds. */
const openMs = 10_000

/** How long each step of closing may take. Together they have to fit into the time for closing a consumer. */
const closeMs = 2_000

interface LinkEvents {
  onMessage(channel: AmqplibChannel, message: AmqplibMessage): void
  onLost(error: unknown): void
}

/** A connection with the one channel of the consumer. */
class Link {
  readonly #connection: AmqplibConsumerConnection
  readonly #events: LinkEvents
  /** Resolves when messages no longer come. */
  readonly #loss = Promise.withResolvers<void>()
  /** Resolves when the connection has ended. The client forgets calls that wait for an answer then. */
  readonly #ended = Promise.withResolvers<void>()
  #channel: AmqplibChannel | undefined
  #consumerTag: string | undefined
  #error: Error | undefined
  isLost = false

  constructor(connection: AmqplibConsumerConnection, events: LinkEvents) {
    this.#connection = connection
    this.#events = events
    connection.on('error', (error) => (this.#error ??= error))
    connection.on('close', (error) => {
      this.#ended.resolve()
      this.#lost(error)
    })
  }

  async consume({ queue, prefetch }: RabbitmqReaderOptions): Promise<void> {
    const channel = await this.#unlessLost(this.#connection.createChannel())
    this.#channel = channel
    channel.on('error', (error) => (this.#error ??= error))
    channel.on('close', () => this.#lost(undefined))
    await this.#unlessLost(channel.prefetch(prefetch))
    const consuming = channel.consume(
      queue,
      (message) => {
        // The broker ends a consumer in this way when its queue is deleted.
        if (message === null) this.#lost(new Error(`The broker cancelled the consumer of queue "${queue}".`))
        else this.#events.onMessage(channel, message)
      },
      { noAck: false },
    )
    this.#consumerTag = (await this.#unlessLost(consuming)).consumerTag
  }

  /** Resolves as `answer` does. Rejects if the broker goes away first: the answer may never come then. */
  async #unlessLost<Answer>(answer: Promise<Answer>): Promise<Answer> {
    await inTime(openMs, () => Promise.race([answer, this.#loss.promise]))
    if (this.isLost) throw this.#reason
    return await answer
  }

  /** Gets no more messages. A broker that goes away meanwhile sends none, either. */
  async cancel(): Promise<void> {
    const [channel, consumerTag] = [this.#channel, this.#consumerTag]
    if (channel === undefined || consumerTag === undefined || this.isLost) return
    await inTime(closeMs, () => Promise.race([channel.cancel(consumerTag), this.#loss.promise]))
  }

  /** Closes channel and connection. Closing the channel sends what was acknowledged. */
  async close(): Promise<void> {
    const wasLost = this.isLost
    this.isLost = true
    await this.#end(wasLost).catch(() => {})
  }

  async #end(wasLost: boolean): Promise<void> {
    const channel = this.#channel
    try {
      // A lost channel has nothing to send.
      if (!wasLost && channel !== undefined) await this.#unlessEnded(() => channel.close())
    } finally {
      await this.#unlessEnded(() => this.#connection.close())
    }
  }

  #unlessEnded(close: () => Promise<void>): Promise<void> {
    return inTime(closeMs, () => Promise.race([close(), this.#ended.promise]))
  }

  get #reason(): Error {
    return this.#error ?? new Error('The channel was closed.')
  }

  #lost(error: Error | undefined): void {
    this.#error ??= error
    if (this.isLost) return
    this.isLost = true
    this.#loss.resolve()
    this.#events.onLost(this.#reason)
  }
}
