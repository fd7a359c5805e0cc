import { OutboxError } from '../../../errors.ts'
import { kindOf } from '../../../options.ts'
import { ioredisDriver } from './ioredis-driver.ts'
import { nodeRedisDriver } from './node-redis-driver.ts'
import type { IoredisClient, NodeRedisClient } from './redis-client.ts'
import type { RedisDriver } from './redis-driver.ts'

/** Returns the driver for a client, judged by its methods. */
export function driverOf(client: unknown): RedisDriver {
  if (has(client, 'evalSha', 'eval', 'multi', 'duplicate')) return nodeRedisDriver(client as NodeRedisClient)
  if (has(client, 'evalsha', 'eval', 'multi', 'duplicate')) return ioredisDriver(client as IoredisClient)

  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `Option "client" of redisStore must be a client or a cluster of ioredis or of redis, not ${kindOf(client)}.`,
  )
}

function has(client: unknown, ...methods: readonly string[]): boolean {
  if (typeof client !== 'object' || client === null) return false
  return methods.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}
