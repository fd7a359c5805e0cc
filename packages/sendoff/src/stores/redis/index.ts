export type {
  IoredisClient,
  NodeRedisClient,
  NodeRedisScriptOptions,
  RedisClient,
  RedisTx,
} from './drivers/redis-client.ts'
export type { RedisStore, RedisStoreOptions } from './redis-store.ts'
export { redisStore } from './redis-store.ts'
