import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OutboxError } from '../../../src/errors.ts'
import { silentLogger } from '../../../src/observe/logger.ts'
import { ConfluentSender } from '../../../src/publishers/kafka/confluent-sender.ts'
import type { KafkajsAnswer, KafkajsBatch } from '../../../src/publishers/kafka/kafka-client.ts'
import type { KafkaMessage } from '../../../src/publishers/kafka/kafka-message.ts'
import type { KafkaSender } from '../../../src/publishers/kafka/kafka-sender.ts'
import { KafkajsSender } from '../../../src/publishers/kafka/kafkajs-sender.ts'
import { pinnedPartitions } from '../../../src/publishers/kafka/pinned-partitions.ts'
import { PlatformaticSender } from '../../../src/publishers/kafka/platformatic-sender.ts'

/** Changes an answer on its way to the sender. */
type Falsify = (answer: readonly KafkajsAnswer[]) => readonly KafkajsAnswer[]

// A real client cannot be made to leave something out on demand. These replace one that does.
const senders: Readonly<Record<string, (falsify: Falsify) => KafkaSender>> = {
  '@platformatic/kafka'(falsify) {
    return new PlatformaticSender(
      {
        metadata: ({ topics }) =>
          Promise.resolve({ topics: new Map(topics.map((topic) => [topic, { partitionsCount: 2 }])) }),
        getSendTopicPartitions: () => new Map(),
        send({ messages }) {
          const answer = falsify(messages.map(({ topic, partition = 0 }) => report(topic, partition)))
          // The answers of this client have no codes. They leave out failed messages.
          const named = answer.filter(({ errorCode }) => errorCode === 0)
          return Promise.resolve({
            offsets: named.map(({ topicName, partition }) => ({ topic: topicName, partition })),
          })
        },
      },
      1_000,
    )
  },

  kafkajs(falsify) {
    const choose = pinnedPartitions((): typeof givenPartition => givenPartition)()
    const sendBatch = ({ topicMessages = [] }: KafkajsBatch): Promise<readonly KafkajsAnswer[]> => {
      const answer = new Map<string, KafkajsAnswer>()
      for (const { topic, messages } of topicMessages) {
        for (const message of messages) {
          const partition = choose({ message })
          answer.set(`${topic}-${partition}`, report(topic, partition))
        }
      }
      return Promise.resolve(falsify([...answer.values()]))
    }
    const connect = (): Promise<void> => Promise.resolve()
    return new KafkajsSender({ connect, isIdempotent: () => false, sendBatch }, silentLogger)
  },

  '@confluentinc/kafka-javascript': (falsify) => confluentSender(falsify),
}

for (const [name, senderOf] of Object.entries(senders)) {
  describe(`the answer of ${name}`, () => {
    const sent = [message('a', 0), message('a', 1), message('b', 0), message('a', 1)]
    const codesAfter = (falsify: Falsify): Promise<string[]> => codesOf(senderOf(falsify), sent)
    const left = (results: string[]): string[] => [...new Set(results)]

    it('acknowledges messages whose partitions it names', async () => {
      deepEqual(left(await codesAfter((answer) => answer)), ['acknowledged'])
    })

    it('acknowledges no message of a topic that it leaves out', async () => {
      const codes = await codesAfter((answer) => answer.filter(({ topicName }) => topicName !== 'b'))
      deepEqual(codes[2], silent)
    })

    it('acknowledges no message of a partition that it leaves out', async () => {
      const codes = await codesAfter((answer) => answer.filter(({ partition }) => partition !== 1))
      deepEqual([codes[1], codes[3]], [silent, silent])
    })

    it('acknowledges no message of a partition that it names with an error', async () => {
      const codes = await codesAfter((answer) =>
        answer.map((each) => (each.partition === 1 ? { ...each, errorCode: 6 } : each)),
      )
      deepEqual(codes, ['acknowledged', silent, 'acknowledged', silent])
    })

    it('acknowledges nothing if it is empty', async () => {
      deepEqual(left(await codesAfter(() => [])), [silent])
    })
  })
}

describe('the answer of @confluentinc/kafka-javascript to messages whose partitions the client chooses', () => {
  const sent = [message('a'), message('b'), message('a')]
  const codesAfter = (falsify: Falsify): Promise<string[]> => codesOf(confluentSender(falsify), sent)

  it('acknowledges messages that have a report each', async () => {
    deepEqual(await codesAfter((answer) => answer), ['acknowledged', 'acknowledged', 'acknowledged'])
  })

  it('acknowledges nothing if there are fewer reports than messages, or more', async () => {
    deepEqual(await codesAfter((answer) => answer.slice(0, 2)), [silent, silent, silent])
    deepEqual(await codesAfter((answer) => [...answer, report('a', 0)]), [silent, silent, silent])
  })

  it('acknowledges no message whose report is about another topic, or says no partition', async () => {
    deepEqual(await codesAfter((answer) => answer.with(1, report('a', 0))), [
      'acknowledged',
      silent,
      'acknowledged',
    ])
    deepEqual(await codesAfter((answer) => answer.with(1, report('b', -1))), [
      'acknowledged',
      silent,
      'acknowledged',
    ])
  })

  it('acknowledges no message whose report has no offset, as those of producers that do not wait for brokers', async () => {
    for (const baseOffset of ['-1001', '-1', null]) {
      const codes = await codesAfter((answer) => answer.with(2, { ...report('a', 0), baseOffset }))
      deepEqual(codes, ['acknowledged', 'acknowledged', silent])
    }
  })
})

const silent = 'OUTBOX_BROKER_SILENT'

function message(topic: string, partition?: number): KafkaMessage {
  return { topic, partition, key: null, headers: {}, body: Buffer.from('{}'), size: 2 }
}

function report(topicName: string, partition: number): KafkajsAnswer {
  return { topicName, partition, errorCode: 0, baseOffset: '0' }
}

function givenPartition(choice: { readonly message: { readonly partition?: number } }): number {
  return choice.message.partition!
}

/**
 * Like the client, this producer joins the reports of each list by partition, and the lists' answers in their
 * order.
 */
function confluentSender(falsify: Falsify): KafkaSender {
  return new ConfluentSender({
    connect: () => Promise.resolve(),
    dependentAdmin: () => undefined,
    sendBatch({ topicMessages = [] }) {
      const answer = topicMessages.flatMap(({ topic, messages }) => {
        const partitions = new Set(messages.map(({ partition = 0 }) => partition))
        return [...partitions].map((partition) => report(topic, partition))
      })
      return Promise.resolve(falsify(answer))
    },
  })
}

async function codesOf(sender: KafkaSender, messages: readonly KafkaMessage[]): Promise<string[]> {
  const results = await sender.send(messages, () => false)
  return results.map((result) => (typeof result === 'string' ? result : (result.error as OutboxError).code))
}
