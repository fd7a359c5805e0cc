import { type OrderPayload, payloadOf } from '../bench-event.ts'
import type { Conditions, StartWorker, Subject } from '../store-bench.ts'
import { serverCpuUs } from '../stores/redis/redis-server.ts'
import { drainSubject } from '../suites/drain.ts'
import { steadySubject } from '../suites/steady/steady-subject.ts'
import { redis } from '../../test/services/servers/redis/redis.ts'

const jobsPerCall = 5_000

/**
 * BullMQ, which takes no part in the transactions of a database: events can be lost or invented. It runs
 * fifty jobs at a time, and removes finished ones.
 */
const startWorker: StartWorker = async (database, conditions, onEvent) => {
  const { Worker } = await import('bullmq')
  const worker = new Worker<OrderPayload>(
    queueName(database, conditions),
    async ({ data }) => onEvent({ payload: data }),
    { connection: connection(), concurrency: 50, removeOnComplete: { count: 0 } },
  )
  worker.on('error', (error) => console.error(error))
  await worker.waitUntilReady()
  return { stop: () => worker.close() }
}

/** Drains a backlog. */
export const bullmqDrain: Subject = drainSubject({
  name: 'bullmq',
  service: redis,
  worker: startWorker,

  backlog: {
    async fill(database, count, conditions) {
      const queue = await openQueue(database, conditions)
      await queue.obliterate({ force: true })
      for (let added = 0; added < count; added += jobsPerCall) {
        const length = Math.min(jobsPerCall, count - added)
        await queue.addBulk(
          Array.from({ length }, (_, index) => ({ name: 'OrderPlaced', data: payloadOf(added + index) })),
        )
      }
      await queue.close()
    },
    async left(database, conditions) {
      const queue = await openQueue(database, conditions)
      const left = await queue.getJobCountByTypes('waiting', 'active', 'delayed', 'failed')
      await queue.obliterate({ force: true })
      await queue.close()
      return left
    },
  },
})

/** Adds jobs at a fixed rate, without orders, because it takes no part in their transactions. */
export const bullmqSteady: Subject = steadySubject({
  name: 'bullmq',
  service: redis,
  worker: startWorker,
  async open(database, conditions) {
    const queue = await openQueue(database, conditions)
    await queue.obliterate({ force: true })
    return {
      write: (number) => queue.add('OrderPlaced', payloadOf(number)),
      serverCpuUs,
      async close() {
        await queue.obliterate({ force: true })
        await queue.close()
      },
    }
  },
})

async function openQueue(database: string, conditions: Conditions) {
  const { Queue } = await import('bullmq')
  return new Queue(queueName(database, conditions), { connection: connection() })
}

function queueName(database: string, { run }: Conditions): string {
  return `sendoff-bench-${run}-${database}`
}

const connection = () => ({ url: process.env['REDIS_URL']!, maxRetriesPerRequest: null })
