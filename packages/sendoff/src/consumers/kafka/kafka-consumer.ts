import { count, having, type OptionCheck, oneOf } from '../../options.ts'
import { checkConsumerOptions, type ConsumerOptions } from '../consumer-options.ts'
import { type MessageConsumer, messageConsumer } from '../message-consumer.ts'
import { MessageRuns } from '../message-runs.ts'
import { expectRedelivery } from '../redelivery.ts'
import type { KafkaAdmin, KafkaClientConsumer } from './kafka-client.ts'
import { KafkajsReader } from './kafkajs-reader.ts'
import type { KafkaOrder } from './partition-work.ts'
import { PlatformaticReader } from './platformatic-reader.ts'
import { topicRetention } from './topic-retention.ts'

/** Options of `kafkaConsumer`. */
export interface KafkaConsumerOptions<Tx> extends ConsumerOptions<Tx> {
  /**
   * A consumer of `@platformatic/kafka` or of `kafkajs`, in a group of its own. The consumer joins the group
   * and leaves it. Close the client afterwards.
   */
  readonly consumer: KafkaClientConsumer
  /** The topics to consume. */
  readonly topics: readonly string[]
  /**
   * An admin of the same client. The consumer asks it how long the topics keep messages, unless
   * `redeliveryMs` is given. It stays open.
   */
  readonly admin?: KafkaAdmin
  /** Where to begin if the group has committed nothing yet. */
  readonly from?: 'earliest' | 'latest'
  /**
   * Which messages of a partition wait for one another: those of the same key, where messages without a key
   * count as one key; all of the partition; or none.
   */
  readonly order?: KafkaOrder
  /** How many messages of a partition the consumer keeps, from the oldest one that is not done. */
  readonly maxBuffered?: number
}

/** Defaults of `kafkaConsumer`. */
export const kafkaConsumerDefaults = { from: 'earliest', order: 'key', maxBuffered: 1_000 } as const

/**
 * Consumes topics of Kafka. An offset is committed after the effects of all messages before it. A failing
 * message is tried again in place; messages of other keys and partitions go on meanwhile.
 */
export function kafkaConsumer<Tx>(options: KafkaConsumerOptions<Tx>): MessageConsumer {
  checkConsumerOptions(
    'kafkaConsumer',
    options,
    {
      consumer: (value) => (isPlatformatic(value) || isKafkajs(value) ? undefined : clients),
      topics: names,
      admin: having('describeConfigs'),
      from: oneOf('earliest', 'latest'),
      order: oneOf('key', 'partition', 'none'),
      maxBuffered: count,
    },
    ['consumer', 'topics'],
  )
  const {
    consumer,
    topics,
    admin,
    from = kafkaConsumerDefaults.from,
    order = kafkaConsumerDefaults.order,
    maxBuffered = kafkaConsumerDefaults.maxBuffered,
  } = options
  const runs = MessageRuns.of('Kafka', options)
  const reading = { topics, from, order, maxBuffered }
  const reader =
    'consume' in consumer
      ? new PlatformaticReader(consumer, runs, reading)
      : new KafkajsReader(consumer, runs, reading)
  const sources = topics.map((topic) => `topic "${topic}"`)
  return messageConsumer(runs, reader, () => {
    void expectRedelivery(runs, options, sources, admin && (() => topicRetention(admin, topics)))
  })
}

const clients = 'a consumer of @platformatic/kafka or kafkajs'

const isPlatformatic = (value: unknown): boolean =>
  having('consume', 'commit', 'leaveGroup', 'on')(value) === undefined

const isKafkajs = (value: unknown): boolean =>
  having('subscribe', 'run', 'stop', 'seek', 'commitOffsets', 'on')(value) === undefined

const names: OptionCheck = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string' && name !== '')
    ? undefined
    : 'a list of names'
