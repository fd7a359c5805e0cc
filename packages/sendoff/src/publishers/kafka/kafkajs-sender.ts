import { OutboxError } from '../../errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { SendResult } from '../broker-publisher.ts'
import type {
  KafkajsAnswer,
  KafkajsBatch,
  KafkajsMessage,
  KafkajsProducer,
  KafkajsTopicMessages,
} from './kafka-client.ts'
import type { KafkaMessage } from './kafka-message.ts'
import { type KafkaSender, NamedPartitions, unacknowledged } from './kafka-sender.ts'
import { pinnedPartition } from './pinned-partitions.ts'

/**
 * Sends through `kafkajs`. When one broker fails, this client tries again and leaves out all brokers that
 * have replied, even if partitions have moved to them. Its result then lacks these partitions.
 *
 * So only a message whose partition stays the same in every try can be compared with the result. Other
 * messages are sent one per call, which has one result.
 */
export class KafkajsSender implements KafkaSender {
  readonly #producer: KafkajsProducer
  readonly #logger: Logger
  // Known from the first message on.
  #isPinned: boolean | undefined

  constructor(producer: KafkajsProducer, logger: Logger) {
    requireNotIdempotent(producer)
    this.#producer = producer
    this.#logger = logger
  }

  get takesBatches(): boolean {
    return this.#isPinned === true
  }

  async send(messages: readonly KafkaMessage[]): Promise<readonly SendResult[]> {
    const made = messages.map(kafkajsMessage)
    const named = namedPartitions(await this.#sendBatch(batchOf(messages, made)))
    if (this.#isPinned === undefined) this.#learn(made[0]!)
    return made.map((message, index) => {
      const { topic } = messages[index]!
      const partition = pinnedPartition(message)
      if (partition !== undefined) return named.resultOf(topic, partition)
      return messages.length === 1 && named.hasTopic(topic) ? 'acknowledged' : unacknowledged(topic)
    })
  }

  async #sendBatch(batch: KafkajsBatch): Promise<readonly KafkajsAnswer[]> {
    try {
      return await this.#producer.sendBatch(batch)
    } catch (error) {
      // A producer that could not connect at first does not try again on its own.
      if (/producer is disconnected/i.test(String(error))) this.#producer.connect().catch(() => {})
      throw error
    }
  }

  #learn(message: KafkajsMessage): void {
    this.#isPinned = pinnedPartition(message) !== undefined
    if (this.#isPinned) return
    this.#logger.warn(
      'The producer of kafkajs does not pin partitions, so that every message is a request of its own. ' +
        'Make it with createPartitioner: pinnedPartitions(Partitioners.DefaultPartitioner), from sendoff/kafka.',
    )
  }
}

function requireNotIdempotent(producer: KafkajsProducer): void {
  if (!producer.isIdempotent()) return
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'The producer of kafkajs is idempotent. After a failed try it gives its sequence numbers to other messages, which brokers ' +
      'then drop as duplicates, or refuse for ever. Make it without idempotent: events are delivered at least once either way.',
  )
}

/** Returns a message in the form that `kafkajs` takes. */
export function kafkajsMessage({ key, partition, headers, body }: KafkaMessage): KafkajsMessage {
  return { key, value: body, headers, ...(partition !== undefined && { partition }) }
}

function batchOf(messages: readonly KafkaMessage[], made: readonly KafkajsMessage[]): KafkajsBatch {
  const topics = new Map<string, KafkajsTopicMessages>()
  for (const [index, { topic }] of messages.entries()) {
    let entry = topics.get(topic)
    if (entry === undefined) topics.set(topic, (entry = { topic, messages: [] }))
    entry.messages.push(made[index]!)
  }
  return { topicMessages: [...topics.values()] }
}

function namedPartitions(answer: readonly KafkajsAnswer[]): NamedPartitions {
  const named = new NamedPartitions()
  for (const { topicName, partition, errorCode } of answer) {
    if (errorCode === 0) named.add(topicName, partition)
  }
  return named
}
