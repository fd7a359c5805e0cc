/** Consumes a queue of RabbitMQ through an inbox: `rabbitmqConsumer({ connection, queue, inbox })`. */
export type * from '../shared.ts'
export type {
  AmqplibChannel,
  AmqplibConsumerConnection,
  AmqplibMessage,
  RabbitmqClientConsumer,
  RabbitmqClientConsumerConnection,
  RabbitmqClientConsumerOptions,
  RabbitmqClientMessage,
  RabbitmqConsumerConnection,
} from './rabbitmq-client.ts'
export { rabbitmqConsumer, type RabbitmqConsumerOptions } from './rabbitmq-consumer.ts'
