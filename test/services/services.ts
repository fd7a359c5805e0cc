import { chromium } from './servers/chromium/chromium.ts'
import { debezium } from './servers/debezium/debezium.ts'
import { kafka } from './servers/kafka/kafka.ts'
import { mariadb } from './servers/mariadb/mariadb.ts'
import { mysql } from './servers/mysql/mysql.ts'
import { nats } from './servers/nats/nats.ts'
import { pgbouncer } from './servers/postgres/pgbouncer.ts'
import { postgres } from './servers/postgres/postgres.ts'
import { postgres18 } from './servers/postgres/postgres18.ts'
import { prometheus } from './servers/prometheus/prometheus.ts'
import { redis } from './servers/redis/redis.ts'
import { redisCluster } from './servers/redis/redis-cluster.ts'
import { rabbitmq } from './servers/rabbitmq/rabbitmq.ts'
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
  debezium,
  prometheus,
  chromium,
]
