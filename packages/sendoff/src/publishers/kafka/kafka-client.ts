/** A producer of `@platformatic/kafka` that takes buffers, as it does without serializers. */
export interface PlatformaticProducer {
  send(options: PlatformaticSendOptions): Promise<unknown>
}

export interface PlatformaticSendOptions {
  messages: PlatformaticMessage[]
  acks?: number
}

export interface PlatformaticMessage {
  topic: string
  key?: Buffer
  value?: Buffer
  partition?: number
  headers?: Map<Buffer, Buffer>
}

/** A producer of `kafkajs`, or of `@confluentinc/kafka-javascript` in the form that it takes from there. */
export interface KafkajsProducer {
  connect(): Promise<void>
  sendBatch(batch: KafkajsBatch): Promise<unknown>
}

export interface KafkajsBatch {
  topicMessages?: KafkajsTopicMessages[]
}

export interface KafkajsTopicMessages {
  topic: string
  messages: KafkajsMessage[]
}

export interface KafkajsMessage {
  key?: Buffer | string | null
  value: Buffer | string | null
  partition?: number
  headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>
}

export type KafkaProducer = PlatformaticProducer | KafkajsProducer
