/** Consumes a stream of Redis through an inbox: `redisStreamsConsumer({ client, stream, inbox })`. */
export type * from '../shared.ts'
export type {
  IoredisConsumerClient,
  NodeRedisConsumerClient,
  RedisStreamsConsumerClient,
} from './redis-streams-client.ts'
export { redisStreamsConsumer, type RedisStreamsConsumerOptions } from './redis-streams-consumer.ts'
