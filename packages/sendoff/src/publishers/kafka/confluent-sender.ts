import { OutboxError } from '../../errors.ts'
import type { SendResult } from '../broker-publisher.ts'
import type { ConfluentProducer, KafkajsAnswer } from './kafka-client.ts'
import type { KafkaMessage } from './kafka-message.ts'
import { type KafkaSender, unacknowledged } from './kafka-sender.ts'
import { kafkajsMessage } from './kafkajs-sender.ts'

/**
 * Sends through `@confluentinc/kafka-javascript`. This client waits for the brokers' report on every message,
 * and rejects if one has failed.
 *
 * Its result merges the reports of one list of messages by partition. So each message is a list of one, and
 * the result has a report for each, in the same order. The client builds the same requests either way.
 */
export class ConfluentSender implements KafkaSender {
  readonly takesBatches = true
  readonly #producer: ConfluentProducer
  #hasKnownAcks: boolean

  constructor(producer: ConfluentProducer) {
    this.#producer = producer
    this.#hasKnownAcks = requireAllReplicas(producer)
  }

  async send(messages: readonly KafkaMessage[]): Promise<readonly SendResult[]> {
    this.#hasKnownAcks ||= requireAllReplicas(this.#producer)
    const topicMessages = messages.map((message) => ({
      topic: message.topic,
      messages: [kafkajsMessage(message)],
    }))
    const reports = await this.#producer.sendBatch({ topicMessages })
    // If a report is missing, the others cannot be matched to their messages.
    const isComplete = reports.length === messages.length
    return messages.map((message, index) =>
      isComplete && isStored(message, reports[index]!)
        ? 'acknowledged'
        : unacknowledged(message.topic, message.partition),
    )
  }
}

/** Returns whether a report names the message's partition, with an offset, which only a broker can give. */
function isStored({ topic, partition }: KafkaMessage, report: KafkajsAnswer): boolean {
  return (
    report.errorCode === 0 &&
    report.topicName === topic &&
    (partition === undefined ? report.partition >= 0 : report.partition === partition) &&
    Number(report.baseOffset ?? -1) >= 0
  )
}

/** An undocumented part of the client, which holds its options from `connect()` on. */
interface ShowsOptions {
  _getInternalClient?(): {
    readonly globalConfig?: Readonly<Record<string, string | number | undefined>>
  } | null
}

const acksOptions = ['acks', 'request.required.acks']
const allReplicas = new Set(['-1', 'all'])

/**
 * Refuses a producer that does not wait for all in-sync replicas. Returns false if its options are not known
 * yet.
 */
function requireAllReplicas(producer: ConfluentProducer & ShowsOptions): boolean {
  const options = producer._getInternalClient?.()?.globalConfig
  if (options === undefined) return false

  for (const name of acksOptions) {
    const acks = String(options[name] ?? 'all')
    if (allReplicas.has(acks)) continue
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `The producer of @confluentinc/kafka-javascript has ${name}=${acks}: it reports messages as stored that are lost with ` +
        'one broker. Make it with acks: -1.',
    )
  }
  return true
}
