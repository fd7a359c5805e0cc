import { kafka } from './kafka.ts'
import { mariadb } from './mariadb.ts'
import { mysql } from './mysql.ts'
import { nats } from './nats.ts'
import { pgbouncer } from './pgbouncer.ts'
import { postgres } from './postgres.ts'
import { postgres18 } from './postgres18.ts'
import { redis } from './redis.ts'
import { redisCluster } from './redis-cluster.ts'
import { rabbitmq } from './rabbitmq.ts'
import type { Service } from './service.ts'

/** Every service that a test file can ask for by name. */
export const services: readonly Service[] = [
  postgres,
  postgres18,
  pgbouncer,
  mariadb,
  mysql,
  redis,
  redisCluster,
  nats,
  rabbitmq,
  kafka,
]
