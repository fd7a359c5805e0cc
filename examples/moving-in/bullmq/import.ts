/**
 * Moves the waiting jobs of a queue of BullMQ on Redis to the outbox in PostgreSQL:
 * `DATABASE_URL=postgres://… REDIS_URL=redis://… node examples/moving-in/bullmq/import.ts QUEUE [BATCH]`. Run it
 * again, at any time, until nothing is left.
 */
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { moveJobs } from './move-jobs.ts'

const [queue = 'jobs', batchSize = '100'] = process.argv.slice(2)
const redis = new Redis(process.env['REDIS_URL']!, { maxRetriesPerRequest: null })
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL']!, max: 4 })
const outbox = await Outbox.writerOnly({ store: postgresStore({ client: pool }) }).start()

let moved = 0
let kept = 0
const move = { redis, outbox, queue, prefix: 'bull', batchSize: Number(batchSize) }
for await (const batch of moveJobs(move)) {
  moved += batch.moved
  kept += batch.kept
  if (batch.moved > 0) console.log(`${batch.moved} jobs`)
}
if (kept > 0) {
  console.log(
    `${kept} jobs of flows or schedulers stay. Let the old workers finish the flows, and remove the schedulers.`,
  )
}
const bullmq = new Queue(queue, { connection: redis })
const left = await bullmq.getJobCountByTypes('wait', 'prioritized', 'delayed', 'active', 'waiting-children')
await bullmq.close()
redis.disconnect()
await outbox.close()
await pool.end()
console.log(`moved=${moved} left=${left}`)
