import { OutboxError } from '../../errors.ts'
import type { SendResult } from '../broker-publisher.ts'
import type { PlatformaticMessage, PlatformaticProducer } from './kafka-client.ts'
import type { KafkaMessage } from './kafka-message.ts'
import { type KafkaSender, NamedPartitions } from './kafka-sender.ts'

const allReplicas = -1

// When a send fails, an idempotent producer restarts its sequence numbers for all sends under way. Another
// send could then get numbers that brokers have seen, and they would drop its messages as duplicates.
const idempotentSends = new WeakMap<PlatformaticProducer, Promise<unknown>>()

/** Sends through `@platformatic/kafka`, one call after another if the producer is idempotent. */
export class PlatformaticSender implements KafkaSender {
  readonly takesBatches = true
  readonly #producer: PlatformaticProducer
  readonly #idempotent: boolean

  constructor(producer: PlatformaticProducer, timeoutMs: number) {
    const options = optionsOf(producer)
    requireBoundedRetries(options, timeoutMs)
    this.#producer = producer
    this.#idempotent = options.idempotent
  }

  send(messages: readonly KafkaMessage[], isGivenUp: () => boolean): Promise<readonly SendResult[]> {
    if (!this.#idempotent) return this.#send(messages)

    const before = idempotentSends.get(this.#producer) ?? Promise.resolve()
    const sent = before.then(() => (isGivenUp() ? [] : this.#send(messages)))
    idempotentSends.set(
      this.#producer,
      sent.catch(() => {}),
    )
    return sent
  }

  async #send(messages: readonly KafkaMessage[]): Promise<readonly SendResult[]> {
    const bound = await this.#boundToPartitions(messages)
    const { offsets = [] } = await this.#producer.send({
      messages: bound,
      acks: allReplicas,
      idempotent: this.#idempotent,
    })
    const named = new NamedPartitions()
    for (const { topic, partition } of offsets) named.add(topic, partition)
    return bound.map(({ topic, partition }) => named.resultOf(topic, partition))
  }

  async #boundToPartitions(messages: readonly KafkaMessage[]): Promise<BoundMessage[]> {
    const { topics } = await this.#producer.metadata({
      topics: [...new Set(messages.map(({ topic }) => topic))],
    })
    return messages.map((message) => {
      const made = platformaticMessage(message)
      const { partitionsCount } = topics.get(made.topic)!
      return Object.assign(made, { partition: this.#chosenPartition(made) % partitionsCount })
    })
  }

  #chosenPartition(message: PlatformaticMessage): number {
    if (message.partition !== undefined) return message.partition
    const [partition] = this.#producer.getSendTopicPartitions({ messages: [message] }).get(message.topic)!
    return partition!
  }
}

type BoundMessage = PlatformaticMessage & { readonly partition: number }

interface ProducerOptions {
  readonly idempotent: boolean
  readonly retries: number
  readonly retryDelay: number | (() => number)
}

const mostRetries = 100

/**
 * Refuses a producer that retries for longer than a publisher waits: one unknown topic would hold up all
 * others.
 */
function requireBoundedRetries({ retries, retryDelay }: ProducerOptions, timeoutMs: number): void {
  const delayMs = typeof retryDelay === 'number' ? retryDelay : 0
  if (retries <= mostRetries && retries * delayMs < timeoutMs) return

  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The producer of @platformatic/kafka would retry ${retries} times, longer than the publisher's timeoutMs (${timeoutMs}). ` +
      'Make it with { retries: 3, retryDelay: 200 }: an idempotent one retries for ever if retries is left out or 1.',
  )
}

/** Returns the options of the client, which keeps them under a symbol that it does not export. */
function optionsOf(producer: PlatformaticProducer): ProducerOptions {
  const symbol = Object.getOwnPropertySymbols(producer).find(
    ({ description }) => description === 'plt.kafka.base.options',
  )
  const unseen: ProducerOptions = { idempotent: false, retries: 0, retryDelay: 0 }
  return symbol === undefined ? unseen : (producer as unknown as Record<symbol, ProducerOptions>)[symbol]!
}

function platformaticMessage({ topic, key, partition, headers, body }: KafkaMessage): PlatformaticMessage {
  return {
    topic,
    value: body,
    headers: bufferHeaders(headers),
    ...(key !== null && { key: typeof key === 'string' ? Buffer.from(key) : key }),
    ...(partition !== undefined && { partition }),
  }
}

function bufferHeaders(headers: Readonly<Record<string, string>>): Map<Buffer, Buffer> {
  const buffers = new Map<Buffer, Buffer>()
  for (const name in headers) {
    const header = headerBuffers(name)
    buffers.set(header.name, header.of(headers[name]!))
  }
  return buffers
}

/** A header as bytes. Most headers have the same value in one message after another. */
class HeaderBuffers {
  readonly name: Buffer
  #lastValue: string | undefined
  #last = Buffer.alloc(0)

  constructor(name: string) {
    this.name = Buffer.from(name)
  }

  of(value: string): Buffer {
    if (value !== this.#lastValue) {
      this.#last = Buffer.from(value)
      this.#lastValue = value
    }
    return this.#last
  }
}

const knownHeaders = new Map<string, HeaderBuffers>()
const maxKnownHeaders = 1_000

function headerBuffers(name: string): HeaderBuffers {
  const known = knownHeaders.get(name)
  if (known !== undefined) return known

  const header = new HeaderBuffers(name)
  if (knownHeaders.size < maxKnownHeaders) knownHeaders.set(name, header)
  return header
}
