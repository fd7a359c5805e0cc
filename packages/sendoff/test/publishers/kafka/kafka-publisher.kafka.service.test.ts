import { deepEqual, equal, throws } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Producer } from '@platformatic/kafka'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import type { EventEnvelope } from '../../../src/event/event-envelope.ts'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import {
  type KafkaProducer,
  kafkaPublisher,
  type KafkaPublisherOptions,
  pinnedPartitions,
} from '../../../src/publishers/kafka/index.ts'
import {
  idOf,
  idsOf,
  KeptLog,
  kindsOf,
  publish,
  publishAll,
  sampleEvent,
  sampleEvents,
} from '../../../src/testing/publisher-checks/publish-steps.ts'
import { confluentIsMissing, confluentPackage, openConfluent } from './confluent-client.ts'
import { type ConsumedMessage, consumeTopic, makeTopic } from './kafka-topics.ts'

const url = process.env['KAFKA_URL']!
const brokers = bootstrapBrokers(url)
const platformatic = new Producer({
  clientId: 'test',
  bootstrapBrokers: brokers,
  idempotent: true,
  retries: 2,
  retryDelay: 100,
})
const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 1 } })
const kafkajs = kafka.producer({ createPartitioner: pinnedPartitions(Partitioners.DefaultPartitioner) })
const unpinned = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
const confluent = confluentIsMissing ? undefined : await openConfluent(url, { idempotent: true, acks: -1 })
const producers: Readonly<Record<string, KafkaProducer>> = {
  '@platformatic/kafka': platformatic,
  kafkajs,
  'kafkajs without pinned partitions': unpinned,
  ...(confluent && { [confluentPackage]: confluent.producer }),
}

before(() => Promise.all([kafkajs.connect(), unpinned.connect()]))
after(async () => {
  await Promise.all([kafkajs.disconnect(), unpinned.disconnect()])
  await platformatic.close()
  await confluent?.close()
})

for (const [name, producer] of Object.entries(producers)) {
  describe(`kafkaPublisher on ${name}`, () => {
    let topics = 0
    const newTopic = (partitions: number) =>
      makeTopic(url, `kafka-${name.replace(/\W/g, '')}-${process.pid}-${topics++}`, partitions)
    const consume = (topic: string) => consumeTopic(url, topic)

    it('sends events with the same ordering key to the same partition, in order', async () => {
      const topic = await newTopic(4)
      const events = Array.from({ length: 60 }, (_, number) =>
        sampleEvent(number, { orderingKey: `order-${number % 9}` }),
      )
      const publisher = kafkaPublisher({ producer, topic, logger: false })
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
        logger: false,
      })
      const event = sampleEvent(1, { orderingKey: 'unused' })
      await publishAll(publisher, [event])
      const [message] = await consume(topic)
      deepEqual(
        { key: message!.key, partition: message!.partition, copy: message!.headers['copy'] },
        { key: 'Checked', partition: 2, copy: event.eventId },
      )
    })

    it('sends what the rule of a destination has made of an event', async (test) => {
      const topic = await newTopic(1)
      const publisher = kafkaPublisher({
        producer,
        topic: ({ target }) => target ?? 'another',
        logger: false,
      })
      const outbox = await Outbox.partitioned({
        store: memoryStore(),
        logger: false,
        listeners: new ListenerRegistry().registerDefault(publisher, { destination: 'kafka' }),
        routing: {
          version: 1,
          rules: [
            {
              to: 'kafka',
              map: ({ payload }) => ({
                payload: { was: payload },
                headers: { source: 'shop' },
                messageKey: payload === 1 ? 'customer-7' : null,
                target: topic,
              }),
            },
          ],
          destinations: { kafka: {} },
        },
      }).start()
      test.after(() => outbox.close())
      for (const payload of [1, 2]) {
        await outbox.transaction(() => outbox.write('Checked', payload, { orderingKey: 'order-1' }))
      }
      await outbox.drain()

      deepEqual(
        (await consume(topic)).map(({ key, headers, body }) => [
          key,
          headers['source'],
          JSON.parse(String(body)),
        ]),
        [
          ['customer-7', 'shop', { was: 1 }],
          [null, 'shop', { was: 2 }],
        ],
      )
    })

    it('accepts keys that are bytes, and sends them to the same partition as their text', async () => {
      const topic = await newTopic(4)
      const keys = Array.from({ length: 8 }, (_, number) => `key-${number}`)
      const events = keys.map((orderingKey, number) => sampleEvent(number, { orderingKey }))
      await publishAll(kafkaPublisher({ producer, topic, logger: false }), events)
      const bytesOf = ({ orderingKey }: EventEnvelope) => new TextEncoder().encode(orderingKey!)
      await publishAll(kafkaPublisher({ producer, topic, logger: false, key: bytesOf }), events)
      const messages = await consume(topic)
      for (const key of keys) {
        const ofKey = messages.filter((message) => message.key === key)
        equal(new Set(ofKey.map(idOf)).size, 1)
        equal(new Set(ofKey.map(({ partition }) => partition)).size, 1)
        equal(ofKey.length >= 2, true)
      }
    })

    it('fails only the event of a missing topic', async () => {
      const topic = await newTopic(4)
      const log = new KeptLog()
      const publisher = kafkaPublisher({
        producer,
        topic: ({ eventType }) => (eventType === 'Lost' ? 'no-such-topic' : topic),
        logger: log,
      })
      await publishAll(publisher, [sampleEvent(0)])
      log.lines.length = 0
      const events = sampleEvents(20)
      const answers = await publish(publisher, events.with(7, sampleEvent(7, { eventType: 'Lost' })))
      deepEqual(
        kindsOf(answers),
        events.map((_, number) => (number === 7 ? 'OUTBOX_PUBLISH_FAILED' : 'done')),
      )
      deepEqual(log.lines, [])
    })

    it('sends events without a key', async () => {
      const topic = await newTopic(1)
      await publishAll(kafkaPublisher({ producer, topic, logger: false }), sampleEvents(3))
      deepEqual(
        (await consume(topic)).map(({ key }) => key),
        [null, null, null],
      )
    })

    it('splits a batch that is too large for one request', async () => {
      const topic = await newTopic(1)
      const events = sampleEvents(8, { payloadBytes: new Uint8Array(150_000), orderingKey: 'a' })
      await publishAll(kafkaPublisher({ producer, topic, logger: false }), events)
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
      const kinds = kindsOf(await publish(kafkaPublisher({ producer, topic, logger: false }), events))
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

/** Requires that the first copies of messages are in the order of their events, key by key. */
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
  const refused = { code: 'OUTBOX_INVALID_OPTION' }

  it('names the options that it needs', () => {
    throws(() => kafkaPublisher({ topic: 'a' } as KafkaPublisherOptions), refused)
    throws(() => kafkaPublisher({ producer: {}, topic: 'a' } as unknown as KafkaPublisherOptions), refused)
    throws(() => kafkaPublisher({ producer: platformatic, topic: 'a', partition: -1 }), refused)
  })

  it('refuses a producer of kafkajs that is idempotent', () => {
    const producer = kafka.producer({ idempotent: true })
    throws(() => kafkaPublisher({ producer, topic: 'a' }), { ...refused, message: /without idempotent/ })
  })

  it('refuses a producer of @platformatic/kafka that retries for longer than the publisher waits', async () => {
    const options = { clientId: 'test', bootstrapBrokers: brokers }
    const endless = [
      { idempotent: true },
      { idempotent: true, retries: 1 },
      { retries: true },
      { retries: 100, retryDelay: 1_000 },
    ].map((retrying) => new Producer({ ...options, ...retrying }))
    for (const producer of endless) {
      throws(() => kafkaPublisher({ producer, topic: 'a' }), { ...refused, message: /retries: 3/ })
    }
    const bounded = new Producer({ ...options, idempotent: true, retries: 3, retryDelay: 200 })
    kafkaPublisher({ producer: bounded, topic: 'a' })
    await Promise.all([...endless, bounded].map((producer) => producer.close()))
  })

  it('logs once that a producer of kafkajs does not pin partitions', async () => {
    const topic = await makeTopic(url, `kafka-unpinned-${process.pid}`, 2)
    const log = new KeptLog()
    const publisher = kafkaPublisher({ producer: unpinned, topic, logger: log })
    await publishAll(publisher, sampleEvents(3))
    await publishAll(publisher, sampleEvents(3))
    equal(log.lines.length, 1)
    equal(log.lines[0]!.includes('pinnedPartitions'), true)
  })

  it('does not settle events that the answer of a client leaves out, and logs it once', async () => {
    const log = new KeptLog()
    const topic = await makeTopic(url, `kafka-left-out-${process.pid}`, 2)
    const firstOnly: KafkaProducer = {
      connect: () => kafkajs.connect(),
      isIdempotent: () => false,
      async sendBatch(batch) {
        const answer = await kafkajs.sendBatch(batch)
        return answer.filter(({ partition }) => partition === 0)
      },
    }
    const publisher = kafkaPublisher({
      producer: firstOnly,
      topic,
      partition: ({ payloadJson }) => (JSON.parse(payloadJson!) as { number: number }).number % 2,
      logger: log,
    })
    await publishAll(publisher, [sampleEvent(0)])
    for (let batches = 0; batches < 3; batches++) {
      const kinds = kindsOf(await publish(publisher, sampleEvents(4)))
      deepEqual(kinds, ['done', 'retryAfter', 'done', 'retryAfter'])
    }
    equal(log.lines.length, 1, log.lines.join('\n'))
  })
})
