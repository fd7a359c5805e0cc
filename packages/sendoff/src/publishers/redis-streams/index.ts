export type { Publisher, Routed } from '../../publisher.ts'
export type { CloudEventsOptions, PublisherOptions } from '../publisher-options.ts'
export type {
  IoredisClient,
  NodeRedisClient,
  NodeRedisTrimOptions,
  RedisStreamsClient,
} from './redis-streams-client.ts'
export { redisStreamsPublisher, type RedisStreamsPublisherOptions } from './redis-streams-publisher.ts'
