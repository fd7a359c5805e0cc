/**
 * Moves the waiting jobs of tasks of graphile-worker to the outbox in the same database:
 * `DATABASE_URL=postgres://… node examples/moving-in/graphile-worker/import.ts TASK[,TASK] [BATCH]`. Run it
 * again, at any time, until nothing is left.
 */
import pg from 'pg'
import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { moveJobs } from './move-jobs.ts'

const [names = '', batchSize = '100'] = process.argv.slice(2)
const tasks = names.split(',')
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL']!, max: 4 })
const outbox = await Outbox.writerOnly({ store: postgresStore({ client: pool }) }).start()

let moved = 0
for (let count = -1; count !== 0; moved += count) {
  count = await moveJobs({ outbox, tasks, batchSize: Number(batchSize) })
  if (count > 0) console.log(`${count} jobs`)
}
const left = `select count(*) from graphile_worker.jobs
  where task_identifier = any ($1) and (locked_at is not null or attempts < max_attempts)`
const { rows } = await pool.query<{ count: string }>(left, [tasks])
await outbox.close()
await pool.end()
console.log(`moved=${moved} left=${rows[0]!.count}`)
