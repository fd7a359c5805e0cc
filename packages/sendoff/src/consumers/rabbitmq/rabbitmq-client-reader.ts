import type { IncomingMessage } from '../incoming-message.ts'
import type { Reader } from '../message-consumer.ts'
import type { MessageRuns } from '../message-runs.ts'
import { Reconnection } from '../reconnection.ts'
import type {
  RabbitmqClientConsumer,
  RabbitmqClientConsumerConnection,
  RabbitmqClientMessage,
} from './rabbitmq-client.ts'
import {
  type RabbitmqAnswer,
  answerTo,
  rabbitmqMessage,
  type RabbitmqReaderOptions,
} from './rabbitmq-delivery.ts'

/** The codes by which a handler of `rabbitmq-client` answers. */
const codes: Readonly<Record<RabbitmqAnswer, number>> = { ack: 0, requeue: 1, reject: 2 }

/** Reads with `rabbitmq-client`, which opens its channel again on its own. */
export class RabbitmqClientReader implements Reader {
  readonly #connection: RabbitmqClientConsumerConnection
  readonly #options: RabbitmqReaderOptions
  readonly #runs: MessageRuns
  readonly #reconnection: Reconnection
  #consumer: RabbitmqClientConsumer | undefined
  #closed: Promise<void> | undefined

  constructor(
    connection: RabbitmqClientConsumerConnection,
    runs: MessageRuns,
    options: RabbitmqReaderOptions,
  ) {
    this.#connection = connection
    this.#runs = runs
    this.#options = options
    this.#reconnection = new Reconnection(runs, () => Promise.resolve())
  }

  start(): Promise<void> {
    const { queue, prefetch } = this.#options
    return new Promise((resolve, reject) => {
      const consumer = this.#connection.createConsumer(
        { queue, qos: { prefetchCount: prefetch }, queueOptions: { queue, passive: true }, requeue: true },
        (message) => this.#take(message),
      )
      let isReady = false
      consumer.on('ready', () => {
        isReady = true
        this.#reconnection.restored()
        resolve()
      })
      consumer.on('error', (error) => {
        if (isReady) return this.#reconnection.lost(error, 'client')
        void consumer.close().catch(() => {})
        reject(error)
      })
      this.#consumer = consumer
    })
  }

  // The client stops to take messages at once, and waits for those that run.
  async stop(): Promise<void> {
    this.#closed = this.#consumer?.close()
    this.#closed?.catch(() => {})
  }

  async finish(): Promise<void> {
    await this.#closed
  }

  async #take(message: RabbitmqClientMessage): Promise<number> {
    const incoming = messageOf(this.#options.queue, message)
    return codes[await answerTo(incoming, this.#runs, this.#options)]
  }
}

/** Makes the message of a delivery, whose body the client has parsed if it is text or JSON. */
function messageOf(queue: string, delivery: RabbitmqClientMessage): IncomingMessage {
  const { body, contentType, deliveryTag } = delivery
  const withBody = (bytes: Buffer): IncomingMessage => rabbitmqMessage(queue, deliveryTag, delivery, bytes)
  if (body instanceof Uint8Array) return withBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  if (typeof body === 'string' && contentType !== 'application/json') return withBody(Buffer.from(body))
  // Most handlers never ask for the bytes. To write a value anew also fails if it is nested very deeply.
  const message = { ...withBody(Buffer.alloc(0)), json: { value: body } }
  return Object.defineProperty(message, 'body', { get: () => Buffer.from(JSON.stringify(body)) })
}
