import { deepEqual, equal, throws } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Producer } from '@platformatic/kafka'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { bootstrapBrokers } from '../../../../../test/services/kafka-cluster.ts'
import {
  type KafkaProducer,
  kafkaPublisher,
  type KafkaPublisherOptions,
} from '../../../src/publishers/kafka/index.ts'
import {
  idOf,
  idsOf,
  kindsOf,
  publish,
  publishAll,
  sampleEvent,
  sampleEvents,
} from '../../../src/testing/publisher-checks/publish-steps.ts'
import { type ConsumedMessage, consumeTopic, makeTopic } from './kafka-topics.ts'

const url = process.env['KAFKA_URL']!
const brokers = bootstrapBrokers(url)
const platformatic = new Producer({
  clientId: 'test',
  bootstrapBrokers: brokers,
  idempotent: true,
  retries: 1,
})
const kafkajs = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 1 } }).producer({
  idempotent: true,
  createPartitioner: Partitioners.DefaultPartitioner,
})
const producers: Readonly<Record<string, KafkaProducer>> = { '@platformatic/kafka': platformatic, kafkajs }

before(() => kafkajs.connect())
after(async () => {
  await kafkajs.disconnect()
  await platformatic.close()
})

for (const [name, producer] of Object.entries(producers)) {
  describe(`kafkaPublisher on ${name}`, () => {
    let topics = 0
    const newTopic = (partitions: number) =>
      makeTopic(url, `kafka-${name.replace(/\W/g, '')}-${process.pid}-${topics++}`, partitions)
    const consume = (topic: string) => consumeTopic(url, topic)

    it('sends what has the same ordering key to the same partition, in order', async () => {
      const topic = await newTopic(4)
      const events = Array.from({ length: 60 }, (_, number) =>
        sampleEvent(number, { orderingKey: `order-${number % 9}` }),
      )
      const publisher = kafkaPublisher({ producer, topic })
      for (let start = 0; start < 60; start += 20)
        await publishAll(publisher, events.slice(start, start + 20))

      const messages = await consume(topic)
      equal(new Set(messages.map(({ partition }) => partition)).size > 1, true)
      for (let key = 0; key < 9; key++) {
        const ofKey = messages.filter((message) => message.key === `order-${key}`)
        equal(new Set(ofKey.map(({ partition }) => partition)).size, 1)
        deepEqual(ofKey.map(idOf), idsOf(events.filter(({ orderingKey }) => orderingKey === `order-${key}`)))
      }
    })

    it('takes topic, key, partition and headers from routes', async () => {
      const topic = await newTopic(3)
      const publisher = kafkaPublisher({
        producer,
        topic: ({ aggregateType }) => (aggregateType === 'Check' ? topic : 'another'),
        key: ({ eventType }) => eventType,
        partition: () => 2,
        headers: ({ eventId }) => ({ copy: eventId }),
      })
      const event = sampleEvent(1, { orderingKey: 'unused' })
      await publishAll(publisher, [event])
      const [message] = await consume(topic)
      deepEqual(
        { key: message!.key, partition: message!.partition, copy: message!.headers['copy'] },
        { key: 'Checked', partition: 2, copy: event.eventId },
      )
    })

    it('sends events without a key', async () => {
      const topic = await newTopic(1)
      await publishAll(kafkaPublisher({ producer, topic }), sampleEvents(3))
      deepEqual(
        (await consume(topic)).map(({ key }) => key),
        [null, null, null],
      )
    })

    it('divides a batch that is larger than the brokers take at once', async () => {
      const topic = await newTopic(1)
      const events = sampleEvents(8, { payloadBytes: new Uint8Array(150_000), orderingKey: 'a' })
      await publishAll(kafkaPublisher({ producer, topic }), events)
      deepEqual((await consume(topic)).map(idOf), idsOf(events))
    })

    it('keeps the order of every key when one message of a batch is refused', async () => {
      const topic = await newTopic(4)
      const events = Array.from({ length: 30 }, (_, number) =>
        sampleEvent(number, {
          orderingKey: `order-${number % 3}`,
          ...(number === 10 && { payloadBytes: new Uint8Array(600_000) }),
        }),
      )
      const kinds = kindsOf(await publish(kafkaPublisher({ producer, topic }), events))
      const expected = events.map((_, number) => {
        if (number === 10) return 'OUTBOX_PUBLISH_REFUSED'
        return number > 10 && number % 3 === 1 ? 'retryAfter' : 'done'
      })
      deepEqual(kinds, expected)
      requireOrder(
        await consume(topic),
        events.filter((_, number) => expected[number] === 'done'),
      )
    })
  })
}

/** The first copies of messages must be in the order of their events, key by key. */
function requireOrder(
  messages: readonly ConsumedMessage[],
  events: readonly { eventId: string; orderingKey: string | null }[],
): void {
  for (const key of new Set(events.map(({ orderingKey }) => orderingKey))) {
    const ids = [...new Set(messages.filter((message) => message.key === key).map(idOf))]
    deepEqual(
      ids,
      events.filter(({ orderingKey }) => orderingKey === key).map(({ eventId }) => eventId),
    )
  }
}

describe('kafkaPublisher', () => {
  it('names the options that it needs', () => {
    const refused = { code: 'OUTBOX_INVALID_OPTION' }
    throws(() => kafkaPublisher({ topic: 'a' } as KafkaPublisherOptions), refused)
    throws(() => kafkaPublisher({ producer: {}, topic: 'a' } as unknown as KafkaPublisherOptions), refused)
    throws(() => kafkaPublisher({ producer: platformatic, topic: 'a', partition: -1 }), refused)
  })
})
