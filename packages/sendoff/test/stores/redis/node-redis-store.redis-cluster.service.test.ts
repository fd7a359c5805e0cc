import { after } from 'node:test'
import { createCluster } from 'redis'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { runRedisStoreChecks } from './run-redis-store-checks.ts'

const client = await createCluster({ rootNodes: [{ url: process.env['REDIS_CLUSTER_URL']! }] }).connect()

runRedisStoreChecks(
  'redis store on redis and a Cluster',
  (prefix) => redisStore({ client, prefix }),
  (key, field, value) => client.hSet(key, field, value),
)

after(() => client.close())
