import { OutboxError } from '../../errors.ts'
import type { SendResult } from '../broker-publisher.ts'
import type { KafkaMessage } from './kafka-message.ts'

/** A client that hands messages to the brokers. */
export interface KafkaSender {
  /** Whether one call may hold more than one message. */
  readonly takesBatches: boolean
  /**
   * Resolves with the result of each message, when all in-sync replicas have the acknowledged ones.
   *
   * A message counts as acknowledged in two cases only. Either the client's result names the partition that
   * the message was bound to before the send, or it has a report for that message alone. A call that is given
   * up before its turn sends nothing.
   */
  send(messages: readonly KafkaMessage[], isGivenUp: () => boolean): Promise<readonly SendResult[]>
}

/** The partitions that a client's result names as stored. */
export class NamedPartitions {
  readonly #named = new Map<string, Set<number>>()

  add(topic: string, partition: number): void {
    const known = this.#named.get(topic)
    if (known === undefined) this.#named.set(topic, new Set([partition]))
    else known.add(partition)
  }

  hasTopic(topic: string): boolean {
    return this.#named.has(topic)
  }

  /** Returns the result of a message that is bound to a partition. */
  resultOf(topic: string, partition: number): SendResult {
    return this.#named.get(topic)?.has(partition) ? 'acknowledged' : unacknowledged(topic, partition)
  }
}

/** Returns the result of a message whose partition is missing from the client's result. */
export function unacknowledged(topic: string, partition?: number): SendResult {
  const place = partition === undefined ? `topic ${topic}` : `partition ${partition} of topic ${topic}`
  return {
    error: new OutboxError(
      'OUTBOX_BROKER_SILENT',
      `Kafka's answer does not name ${place}, so it is not certain that the message is stored.`,
    ),
  }
}
