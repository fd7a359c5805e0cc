export type { Publisher, Routed } from '../../publisher.ts'
export type { CloudEventsOptions, PublisherOptions } from '../publisher-options.ts'
export type {
  AmqplibConfirmChannel,
  AmqplibConnection,
  AmqplibMessageOptions,
  AmqplibReturnedMessage,
  RabbitmqClientConnection,
  RabbitmqClientEnvelope,
  RabbitmqClientPublisher,
} from './rabbitmq-client.ts'
export {
  type RabbitmqPublisher,
  rabbitmqPublisher,
  type RabbitmqPublisherOptions,
} from './rabbitmq-publisher.ts'
