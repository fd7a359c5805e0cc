/** A producer of `@platformatic/kafka` that takes buffers, as it does without serializers. */
export interface PlatformaticProducer {
  send(options: PlatformaticSendOptions): Promise<PlatformaticAnswer>
  /** Returns the topics' partitions, which the client caches. */
  metadata(options: { topics: string[] }): Promise<PlatformaticMetadata>
  /**
   * Returns the partitions that the producer chooses, before the modulo by the topic's number of partitions.
   */
  getSendTopicPartitions(options: PlatformaticSendOptions): Map<string, Set<number>>
}

/** Options of `send` of `@platformatic/kafka`. */
export interface PlatformaticSendOptions {
  /** The messages of the request. */
  messages: PlatformaticMessage[]
  /** How many replicas confirm the request; -1 means all that are in sync. */
  acks?: number
  /** Whether the broker drops messages that the client repeats. */
  idempotent?: boolean
}

/** A message in the form that `@platformatic/kafka` takes. */
export interface PlatformaticMessage {
  topic: string
  key?: Buffer
  value?: Buffer
  partition?: number
  headers?: Map<Buffer, Buffer>
}

/** The result of `send` of `@platformatic/kafka`. */
export interface PlatformaticAnswer {
  readonly offsets?: readonly { readonly topic: string; readonly partition: number }[]
}

/** The partitions of topics, as `@platformatic/kafka` returns them. */
export interface PlatformaticMetadata {
  readonly topics: ReadonlyMap<string, { readonly partitionsCount: number }>
}

/** A producer of `kafkajs` that is not idempotent. */
export interface KafkajsProducer {
  connect(): Promise<void>
  isIdempotent(): boolean
  sendBatch(batch: KafkajsBatch): Promise<readonly KafkajsAnswer[]>
}

/** A producer of `@confluentinc/kafka-javascript`, in the form that it shares with `kafkajs`. */
export interface ConfluentProducer {
  connect(): Promise<void>
  dependentAdmin(): unknown
  sendBatch(batch: KafkajsBatch): Promise<readonly KafkajsAnswer[]>
}

/** The messages of one `sendBatch` call. */
export interface KafkajsBatch {
  topicMessages?: KafkajsTopicMessages[]
}

/** The messages of a batch for one topic. */
export interface KafkajsTopicMessages {
  topic: string
  messages: KafkajsMessage[]
}

/** A message in the form that `kafkajs` takes. */
export interface KafkajsMessage {
  key?: Buffer | string | null
  value: Buffer | string | null
  partition?: number
  headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>
}

/** The part of a result that is about one partition. */
export interface KafkajsAnswer {
  readonly topicName: string
  readonly partition: number
  readonly errorCode: number
  readonly baseOffset?: string | null
}

/** A producer of one of the three clients. */
export type KafkaProducer = PlatformaticProducer | KafkajsProducer | ConfluentProducer
