import { runConsumerChecks } from '../run-consumer-checks.ts'
import { runOutageCheck } from '../run-outage-check.ts'
import { runRedeliveryCheck } from '../run-redelivery-check.ts'
import { addOldEntry } from './redis-broker.ts'

const module = new URL('ioredis-broker.ts', import.meta.url)
await runConsumerChecks('the Redis Streams consumer on ioredis', module, process.env['REDIS_URL']!)
runOutageCheck('the Redis Streams consumer on ioredis', module, process.env['REDIS_URL']!)
runRedeliveryCheck(
  'the Redis Streams consumer on ioredis',
  module,
  process.env['REDIS_URL']!,
  async (stream) => {
    await addOldEntry(process.env['REDIS_URL']!, stream, 20 * 86_400_000)
    return {}
  },
)
