import { Cluster } from 'ioredis'
import { after } from 'node:test'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { runRedisStoreChecks } from './run-redis-store-checks.ts'

const client = new Cluster([process.env['REDIS_CLUSTER_URL']!])

runRedisStoreChecks(
  'redis store on ioredis and a Cluster',
  (prefix) => redisStore({ client, prefix }),
  (key, field, value) => client.hset(key, field, value),
)

after(() => client.quit())
