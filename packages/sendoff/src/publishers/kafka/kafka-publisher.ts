import { callable, checkOptions, count, having, requireOptions, text } from '../../options.ts'
import { type Publisher, type Routed, routed } from '../../publisher.ts'
import type { Answers } from '../answers.ts'
import { brokerPublisher, type Letter, type SendResult } from '../broker-publisher.ts'
import { type PublisherOptions, publisherOptionChecks } from '../publisher-options.ts'
import { sendInLanes } from '../send-in-lanes.ts'
import { bodyBytes, wireMessage } from '../wire-message.ts'
import type { KafkaProducer } from './kafka-client.ts'
import { type KafkaMessage, produce, recordSize } from './kafka-message.ts'
import { kafkaVerdict } from './kafka-verdict.ts'

export interface KafkaPublisherOptions extends PublisherOptions {
  /**
   * A producer of `@platformatic/kafka`, `kafkajs` or `@confluentinc/kafka-javascript`, idempotent by its own options.
   * The publisher does not close it.
   */
  readonly producer: KafkaProducer
  readonly topic: Routed<string>
  /** The event's ordering key unless told otherwise: what has the same key goes to the same partition, in order. */
  readonly key?: Routed<string | null>
  /** Chosen by the producer from the key where left out. */
  readonly partition?: Routed<number | undefined>
  /** A request has no more than this, unless a single message is larger: 500,000. Keep it below the brokers' `message.max.bytes`. */
  readonly maxRequestBytes?: number
}

/** Produces events to topics, acknowledged by all replicas that are in sync. A batch is one request. */
export function kafkaPublisher(options: KafkaPublisherOptions): Publisher {
  checkOptions('kafkaPublisher', options, {
    ...publisherOptionChecks,
    producer: (value) =>
      having('send')(value) === undefined || having('sendBatch')(value) === undefined
        ? undefined
        : 'a producer of @platformatic/kafka, kafkajs or @confluentinc/kafka-javascript',
    topic: (value) => (callable(value) && text(value) ? 'a string or a function' : undefined),
    key: (value) => (callable(value) && text(value) ? 'a string or a function' : undefined),
    partition: (value) =>
      callable(value) === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)
        ? undefined
        : 'a whole number or a function',
    maxRequestBytes: count,
  })
  requireOptions('kafkaPublisher', options, ['producer', 'topic'])
  const { producer, topic, key, partition, maxRequestBytes = 500_000, timeoutMs = 30_000 } = options

  const sending = async (answers: Answers, messages: readonly KafkaMessage[]): Promise<void> => {
    try {
      await answers.within(timeoutMs, produce(producer, messages))
    } catch (error) {
      reconnect(producer, error)
      throw error
    }
  }

  return brokerPublisher<KafkaMessage>(
    {
      name: 'Kafka',

      message(event) {
        const { body, contentType, headers } = wireMessage(event, options, 'ce_')
        headers['content-type'] = contentType
        const bytes = bodyBytes(body)
        return {
          topic: routed(topic, event),
          key: key === undefined ? event.orderingKey : routed(key, event),
          partition: partition === undefined ? undefined : routed(partition, event),
          headers,
          body: bytes,
          size: recordSize(bytes, headers),
        }
      },

      send: (letters, answers) =>
        sendRequests(requestsOf(letters, maxRequestBytes), (messages) => sending(answers, messages)),

      verdict: kafkaVerdict,
    },
    options,
  )
}

type Send = (messages: readonly KafkaMessage[]) => Promise<void>
type Request = readonly Letter<KafkaMessage>[]

/** Sends one request after another, without the messages of keys that have failed, until there is no broker any more. */
async function sendRequests(requests: readonly Request[], send: Send): Promise<readonly SendResult[]> {
  const results: SendResult[] = []
  const failedKeys = new Set<string | null>()
  let away: SendResult | undefined
  for (const request of requests) {
    const open = request.filter(({ key }) => key === null || !failedKeys.has(key))
    const answers = away === undefined ? await sendRequest(open, send) : open.map(() => away!)
    const answerTo = new Map(open.map((letter, index) => [letter, answers[index]!]))
    for (const letter of request) {
      const result = answerTo.get(letter) ?? 'held'
      results.push(result)
      if (result !== 'acknowledged') failedKeys.add(letter.key)
    }
    away ??= answers.find(isUnavailable)
  }
  return results
}

/**
 * Sends messages in one request. Where some of them are to blame for its failure, all are sent again one by one, those of
 * a key in their order: messages for other partitions may then be stored twice.
 */
async function sendRequest(letters: Request, send: Send): Promise<readonly SendResult[]> {
  if (letters.length === 0) return []
  try {
    await send(letters.map(({ message }) => message))
    return letters.map(() => 'acknowledged' as const)
  } catch (error) {
    if (letters.length === 1 || kafkaVerdict(error) === 'unavailable') return letters.map(() => ({ error }))
    return sendInLanes(letters, (message) => send([message]))
  }
}

/** Cuts a batch where a request would become too large for the brokers. */
function requestsOf(letters: Request, maxBytes: number): readonly Request[] {
  const requests: Letter<KafkaMessage>[][] = []
  let size = Infinity
  for (const letter of letters) {
    if (size + letter.message.size > maxBytes) {
      requests.push([])
      size = 0
    }
    requests.at(-1)!.push(letter)
    size += letter.message.size
  }
  return requests
}

function isUnavailable(result: SendResult): result is { readonly error: unknown } {
  return typeof result === 'object' && kafkaVerdict(result.error) === 'unavailable'
}

// A producer that could not connect at first does not try again by itself.
function reconnect(producer: KafkaProducer, error: unknown): void {
  if (!('connect' in producer) || !/producer is disconnected/i.test(String(error))) return
  producer.connect().catch(() => {})
}
