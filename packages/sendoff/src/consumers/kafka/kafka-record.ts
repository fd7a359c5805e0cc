import { plainHeaders } from '../incoming-message.ts'
import type { KafkaRecord } from './partition-work.ts'

/** A message as the clients deliver it. */
export interface RawRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly key: Buffer | null | undefined
  readonly value: Buffer | null | undefined
  readonly headers: Iterable<readonly [unknown, unknown]>
}

/** Makes the message of a record. */
export function kafkaRecord({ topic, partition, offset, key, value, headers }: RawRecord): KafkaRecord {
  const plain = plainHeaders(headers)
  return {
    offset,
    message: {
      source: topic,
      place: `${partition}/${offset}`,
      headers: plain,
      contentType: plain['content-type'],
      body: value ?? Buffer.alloc(0),
      key: key?.toString() ?? null,
    },
  }
}
