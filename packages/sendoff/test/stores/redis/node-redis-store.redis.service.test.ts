import { after } from 'node:test'
import { createClient } from 'redis'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { runRedisStoreChecks } from './run-redis-store-checks.ts'

const client = await createClient({ url: process.env['REDIS_URL']! }).connect()

runRedisStoreChecks(
  'redis store on redis',
  (prefix) => redisStore({ client, prefix }),
  (key, field, value) => client.hSet(key, field, value),
)

after(() => client.close())
