import { type Logger, loggerFrom } from '../../observe/logger.ts'
import { callable, checkOptions, count, having, requireOptions, text } from '../../options.ts'
import { type Publisher, type Routed, routed } from '../../publisher.ts'
import type { Answers } from '../../answers.ts'
import { brokerPublisher, type Letter, type SendResult } from '../broker-publisher.ts'
import { type PublisherOptions, publisherOptionChecks } from '../publisher-options.ts'
import { sendInLanes } from '../send-in-lanes.ts'
import { bodyBytes, wireMessage } from '../wire-message.ts'
import { BoundedSender } from './bounded-sender.ts'
import { ConfluentSender } from './confluent-sender.ts'
import type { KafkaProducer } from './kafka-client.ts'
import { type KafkaMessage, recordSize } from './kafka-message.ts'
import type { KafkaSender } from './kafka-sender.ts'
import { kafkaVerdict } from './kafka-verdict.ts'
import { KafkajsSender } from './kafkajs-sender.ts'
import { PlatformaticSender } from './platformatic-sender.ts'

/** Options of `kafkaPublisher`. */
export interface KafkaPublisherOptions extends PublisherOptions {
  /**
   * A connected producer of one of three clients. The publisher does not close it.
   *
   * - `@platformatic/kafka` with bounded `retries`
   * - `kafkajs` without `idempotent` and with `pinnedPartitions`
   * - `@confluentinc/kafka-javascript` with `acks: -1`
   */
  readonly producer: KafkaProducer
  /** The topic that messages are sent to. */
  readonly topic: Routed<string>
  /**
   * Key of the message, as text or bytes; the event's ordering key by default. Messages of one key go to one
   * partition, in order.
   */
  readonly key?: Routed<string | Uint8Array | null>
  /** Partition of the message; by default the producer chooses it from the key. */
  readonly partition?: Routed<number | undefined>
  /**
   * Most bytes of a request, unless a single message is larger: 500,000 by default. Keep it below the
   * brokers' `message.max.bytes`.
   */
  readonly maxRequestBytes?: number
}

/** Defaults of `kafkaPublisher`. */
export const kafkaDefaults = { maxRequestBytes: 500_000, timeoutMs: 30_000 }

/** Produces events to topics, acknowledged by all in-sync replicas. A batch is one request. */
export function kafkaPublisher(options: KafkaPublisherOptions): Publisher {
  checkOptions('kafkaPublisher', options, {
    ...publisherOptionChecks,
    producer: (value) => (clientOf(value) === undefined ? producers : undefined),
    topic: (value) => (callable(value) && text(value) ? 'a string or a function' : undefined),
    key: (value) =>
      callable(value) && text(value) && !(value instanceof Uint8Array)
        ? 'a string, bytes or a function'
        : undefined,
    partition: (value) =>
      callable(value) === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)
        ? undefined
        : 'a whole number or a function',
    maxRequestBytes: count,
  })
  requireOptions('kafkaPublisher', options, ['producer', 'topic'])
  const { producer, topic, key, partition } = options
  const { maxRequestBytes = kafkaDefaults.maxRequestBytes, timeoutMs = kafkaDefaults.timeoutMs } = options

  const sender = new BoundedSender(senderOf(producer, timeoutMs, loggerFrom(options.logger)), timeoutMs)

  return brokerPublisher<KafkaMessage>(
    {
      name: 'Kafka',

      message(event) {
        const { body, contentType, headers } = wireMessage(event, options, 'ce_')
        headers['content-type'] = contentType
        const bytes = bodyBytes(body)
        return {
          topic: routed(topic, event),
          key: key === undefined ? event.messageKey : keyBytes(routed(key, event)),
          partition: partition === undefined ? undefined : routed(partition, event),
          headers,
          body: bytes,
          size: recordSize(bytes, headers),
        }
      },

      send: (letters, answers) => sendRequests(requestsOf(letters, maxRequestBytes), sender, answers),

      verdict: kafkaVerdict,
    },
    options,
  )
}

const producers = 'a producer of @platformatic/kafka, kafkajs or @confluentinc/kafka-javascript'

/** Returns which client a producer belongs to. */
function clientOf(producer: unknown): 'platformatic' | 'kafkajs' | 'confluent' | undefined {
  const has = (...methods: string[]): boolean => having(...methods)(producer) === undefined
  if (has('sendBatch', 'isIdempotent')) return 'kafkajs'
  if (has('sendBatch', 'dependentAdmin')) return 'confluent'
  return has('send', 'metadata', 'getSendTopicPartitions') ? 'platformatic' : undefined
}

function senderOf(producer: KafkaProducer, timeoutMs: number, logger: Logger): KafkaSender {
  if (!('sendBatch' in producer)) return new PlatformaticSender(producer, timeoutMs)
  return 'isIdempotent' in producer ? new KafkajsSender(producer, logger) : new ConfluentSender(producer)
}

function keyBytes(key: string | Uint8Array | null): string | Buffer | null {
  return key instanceof Uint8Array ? bodyBytes(key) : key
}

type Request = readonly Letter<KafkaMessage>[]

/**
 * Sends one request after another, and stops when no broker is reachable. It leaves out messages of keys that
 * have failed.
 */
async function sendRequests(
  requests: readonly Request[],
  sender: BoundedSender,
  answers: Answers,
): Promise<readonly SendResult[]> {
  const results: SendResult[] = []
  const failedKeys = new Set<string>()
  const isOpen = ({ key }: Letter<KafkaMessage>): boolean => key === null || !failedKeys.has(key)
  let away: SendResult | undefined
  for (const request of requests) {
    const open = request.filter(isOpen)
    const sent = away === undefined ? await sendRequest(open, sender, answers) : open.map(() => away!)
    const resultOf = new Map(open.map((letter, index) => [letter, sent[index]!]))
    for (const letter of request) {
      const result = isOpen(letter) ? resultOf.get(letter)! : 'held'
      results.push(result)
      if (result !== 'acknowledged' && letter.key !== null) failedKeys.add(letter.key)
    }
    // If some of the brokers have replied, the next request may be for those.
    if (!sent.includes('acknowledged')) away ??= sent.find(isUnavailable)
  }
  return results
}

/**
 * Sends messages in one request. If some of them caused its failure, it sends all again one by one, those of
 * a key in their order. Messages for other partitions may then be stored twice.
 */
async function sendRequest(
  letters: Request,
  sender: BoundedSender,
  answers: Answers,
): Promise<readonly SendResult[]> {
  const oneByOne = (): Promise<readonly SendResult[]> =>
    sendInLanes(letters, async (message) => {
      const [result] = await sender.send([message], answers)
      if (typeof result === 'object') throw result.error
    })

  if (letters.length === 0) return []
  if (letters.length > 1 && !sender.takesBatches) return oneByOne()
  try {
    return await sender.send(
      letters.map(({ message }) => message),
      answers,
    )
  } catch (error) {
    if (letters.length === 1 || kafkaVerdict(error) === 'unavailable') return letters.map(() => ({ error }))
    return oneByOne()
  }
}

/** Splits a batch where a request would become too large for the brokers. */
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
