export type { Publisher, Routed } from '../../publisher.ts'
export type { CloudEventsOptions, PublisherOptions } from '../publisher-options.ts'
export type {
  ConfluentProducer,
  KafkajsAnswer,
  KafkajsBatch,
  KafkajsMessage,
  KafkajsProducer,
  KafkajsTopicMessages,
  KafkaProducer,
  PlatformaticAnswer,
  PlatformaticMessage,
  PlatformaticMetadata,
  PlatformaticProducer,
  PlatformaticSendOptions,
} from './kafka-client.ts'
export { kafkaPublisher, type KafkaPublisherOptions } from './kafka-publisher.ts'
export { pinnedPartitions } from './pinned-partitions.ts'
