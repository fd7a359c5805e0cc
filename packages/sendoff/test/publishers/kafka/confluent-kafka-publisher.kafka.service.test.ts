import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { kafkaPublisher } from '../../../src/publishers/kafka/index.ts'
import {
  KeptLog,
  kindsOf,
  publish,
  sampleEvents,
} from '../../../src/testing/publisher-checks/publish-steps.ts'
import { confluentIsMissing, confluentPackage, confluentProducer, openConfluent } from './confluent-client.ts'
import { makeTopic } from './kafka-topics.ts'
import { runKafkaChecks } from './run-kafka-checks.ts'

const url = process.env['KAFKA_URL']!

if (!confluentIsMissing) {
  runKafkaChecks(confluentPackage, (broker) => openConfluent(broker, { idempotent: true, acks: -1 }))
}

describe(
  `the Kafka publisher on ${confluentPackage}, by the reports of the client`,
  { skip: confluentIsMissing },
  () => {
    it('gets a report for each message that is sent as a list of its own, in their order', async (context) => {
      const { producer } = await opened(context, { idempotent: true })
      const topics = await Promise.all(
        ['a', 'b'].map((name) => makeTopic(url, `confluent-${name}-${process.pid}`, 2)),
      )
      const topicMessages = Array.from({ length: 40 }, (_, number) => ({
        topic: topics[number % 3 === 0 ? 0 : 1]!,
        messages: [{ key: `key-${number % 5}`, value: 'v', ...(number % 4 === 0 && { partition: 1 }) }],
      }))
      const answer = await producer.sendBatch({ topicMessages })
      deepEqual(
        answer.map(({ topicName }) => topicName),
        topicMessages.map(({ topic }) => topic),
      )
      equal(
        answer.every(({ partition }, number) => number % 4 !== 0 || partition === 1),
        true,
      )
      equal(
        new Set(answer.map((report) => `${report.topicName} ${report.partition} ${report.baseOffset}`)).size,
        40,
      )
    })

    it('gets a rejection if a single message has failed', async (context) => {
      const { producer } = await opened(context, { idempotent: true })
      const topic = await makeTopic(url, `confluent-single-${process.pid}`, 2)
      const topicMessages = [0, 1, 7, 1].map((partition) => ({
        topic,
        messages: [{ value: 'v', partition }],
      }))
      await rejects(producer.sendBatch({ topicMessages }), { code: -190 })
    })

    for (const acks of [0, 1]) {
      it(`refuses a producer with acks ${acks}`, async (context) => {
        const { producer } = await opened(context, { acks })
        throws(() => kafkaPublisher({ producer, topic: 'a' }), {
          code: 'OUTBOX_INVALID_OPTION',
          message: /acks: -1/,
        })
      })

      it(`settles nothing through a producer with acks ${acks} that connects later`, async (context) => {
        const client = confluentProducer(url, { acks })
        const { producer } = client
        const topic = await makeTopic(url, `confluent-acks-${acks}-${process.pid}`)
        const log = new KeptLog()
        const publisher = kafkaPublisher({ producer, topic, logger: log })
        await producer.connect()
        context.after(() => client.close())
        deepEqual(kindsOf(await publish(publisher, sampleEvents(2))), ['retryAfter', 'retryAfter'])
        match(log.lines.join('\n'), /acks: -1/)
      })
    }
  },
)

/** Returns a producer that is closed after the test. */
async function opened(context: TestContext, options: object): ReturnType<typeof openConfluent> {
  const client = await openConfluent(url, options)
  context.after(() => client.close())
  return client
}
