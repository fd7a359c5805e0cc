import { ok } from 'node:assert/strict'
import { it } from 'node:test'
import type { ChainableCommander, Cluster, Redis } from 'ioredis'
import type { RedisClientType, RedisClusterType } from 'redis'
import type { OutboxStore } from '../../../src/store/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'

it('a store hands out the MULTI of its client', () => {
  const onIoredis = (client: Redis) => redisStore({ client })
  const onIoredisCluster = (client: Cluster) => redisStore({ client })
  const onNodeRedis = (client: RedisClientType) => redisStore({ client })
  const onNodeRedisCluster = (client: RedisClusterType) => redisStore({ client })

  type TxOf<Open extends (client: never) => unknown> =
    ReturnType<Open> extends OutboxStore<infer Tx> ? Tx : never
  type Same<A, B> = [A, B] extends [B, A] ? true : false
  const same: [
    Same<TxOf<typeof onIoredis>, ChainableCommander>,
    Same<TxOf<typeof onIoredisCluster>, ChainableCommander>,
    Same<TxOf<typeof onNodeRedis>, ReturnType<RedisClientType['multi']>>,
    Same<TxOf<typeof onNodeRedisCluster>, ReturnType<RedisClusterType['multi']>>,
  ] = [true, true, true, true]
  ok(same.every(Boolean))
  const opens = [onIoredis, onIoredisCluster, onNodeRedis, onNodeRedisCluster]
  ok(opens.every((open) => typeof open === 'function'))

  // @ts-expect-error a MULTI is no client
  void ((client: ChainableCommander) => redisStore({ client }))
})
