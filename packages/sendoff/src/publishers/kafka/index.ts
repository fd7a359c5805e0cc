export type { Publisher, Routed } from '../../publisher.ts'
export type { CloudEventsOptions, PublisherOptions } from '../publisher-options.ts'
export type {
  KafkajsBatch,
  KafkajsMessage,
  KafkajsProducer,
  KafkajsTopicMessages,
  KafkaProducer,
  PlatformaticMessage,
  PlatformaticProducer,
  PlatformaticSendOptions,
} from './kafka-client.ts'
export { kafkaPublisher, type KafkaPublisherOptions } from './kafka-publisher.ts'
