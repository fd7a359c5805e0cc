export type { Publisher, Routed } from '../../publisher.ts'
export type { CloudEventsOptions, PublisherOptions } from '../publisher-options.ts'
export type {
  NatsAcknowledgement,
  NatsJetStream,
  NatsMessageHeaders,
  NatsPublishOptions,
} from './nats-client.ts'
export { natsPublisher, type NatsPublisherOptions } from './nats-publisher.ts'
