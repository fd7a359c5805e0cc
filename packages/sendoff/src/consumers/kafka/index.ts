/** Consumes topics of Kafka through an inbox: `kafkaConsumer({ consumer, topics, inbox, handler })`. */
export type * from '../shared.ts'
export type {
  KafkaAdmin,
  KafkaClientConsumer,
  KafkajsAdmin,
  KafkajsBatchPayload,
  KafkajsConsumer,
  KafkajsCrash,
  KafkajsGroupJoin,
  KafkajsReceivedMessage,
  KafkajsRunConfig,
  PlatformaticAdmin,
  PlatformaticAssignment,
  PlatformaticConsumeOptions,
  PlatformaticConsumer,
  PlatformaticMessage,
  PlatformaticOffset,
  PlatformaticStream,
} from './kafka-client.ts'
export { kafkaConsumer, type KafkaConsumerOptions } from './kafka-consumer.ts'
export type { KafkaOrder } from './partition-work.ts'
