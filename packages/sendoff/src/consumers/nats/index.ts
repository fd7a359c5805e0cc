/** Consumes messages of NATS JetStream through an inbox: `natsConsumer({ consumer, inbox, handler })`. */
export type * from '../shared.ts'
export type {
  NatsConsumer,
  NatsConsumerInfo,
  NatsManager,
  NatsMessage,
  NatsMessages,
  NatsReceivedHeaders,
} from './nats-client.ts'
export { natsConsumer, type NatsConsumerOptions } from './nats-consumer.ts'
