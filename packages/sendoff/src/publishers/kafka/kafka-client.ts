/** A producer of `@platformatic/kafka` that takes buffers, as it does without serializers. */
export interface PlatformaticProducer {
  send(options: PlatformaticSendOptions): Promise<PlatformaticAnswer>
  /** The topics' partitions, which the client caches. */
  metadata(options: { topics: string[] }): Promise<PlatformaticMetadata>
  /** The partitions that the producer chooses, before they are taken modulo the topic's number of them. */
  getSendTopicPartitions(options: PlatformaticSendOptions): Map<string, Set<number>>
}

/** The argument of a `@platformatic/kafka` producer's `send`. */
export interface PlatformaticSendOptions {
  /** The messages of the request. */
  messages: PlatformaticMessage[]
  /** How many replicas confirm the request; -1 means all that are in sync. */
  acks?: number
  /** Whether the broker drops messages that the client repeats. */
  idempotent?: boolean
}

/** A message for a `@platformatic/kafka` producer. */
export interface PlatformaticMessage {
  topic: string
  key?: Buffer
  value?: Buffer
  partition?: number
  headers?: Map<Buffer, Buffer>
}

/** The result of a `@platformatic/kafka` producer's `send`. */
export interface PlatformaticAnswer {
  readonly offsets?: readonly { readonly topic: string; readonly partition: number }[]
}

/** The topics that a `@platformatic/kafka` producer knows, by name. */
export interface PlatformaticMetadata {
  readonly topics: ReadonlyMap<string, { readonly partitionsCount: number }>
}

/** A producer of `kafkajs` that is not idempotent. */
export interface KafkajsProducer {
  connect(): Promise<void>
  isIdempotent(): boolean
  sendBatch(batch: KafkajsBatch): Promise<readonly KafkajsAnswer[]>
}

/** A producer of `@confluentinc/kafka-javascript` in the form that it takes from `kafkajs`. */
export interface ConfluentProducer {
  connect(): Promise<void>
  dependentAdmin(): unknown
  sendBatch(batch: KafkajsBatch): Promise<readonly KafkajsAnswer[]>
}

/** The argument of `sendBatch` of a `kafkajs` or Confluent producer. */
export interface KafkajsBatch {
  topicMessages?: KafkajsTopicMessages[]
}

/** The messages of a batch that go to one topic. */
export interface KafkajsTopicMessages {
  topic: string
  messages: KafkajsMessage[]
}

/** A message for a `kafkajs` or Confluent producer. */
export interface KafkajsMessage {
  key?: Buffer | string | null
  value: Buffer | string | null
  partition?: number
  headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>
}

/** One partition's part of an answer. */
export interface KafkajsAnswer {
  readonly topicName: string
  readonly partition: number
  readonly errorCode: number
  readonly baseOffset?: string | null
}

/** A producer of one of the three Kafka clients. */
export type KafkaProducer = PlatformaticProducer | KafkajsProducer | ConfluentProducer
