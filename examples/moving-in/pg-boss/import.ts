/**
 * Moves the waiting jobs of a queue of pg-boss to the outbox in the same database:
 * `DATABASE_URL=postgres://… node examples/moving-in/pg-boss/import.ts QUEUE [BATCH]`. Run it again, at any time,
 * until nothing is left.
 */
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { moveJobs } from './move-jobs.ts'

const [queue = 'jobs', batchSize = '100'] = process.argv.slice(2)
const connectionString = process.env['DATABASE_URL']!
const pool = new pg.Pool({ connectionString, max: 4 })
const outbox = await Outbox.writerOnly({ store: postgresStore({ client: pool }) }).start()
// Only for its methods: this process works on no job, and leaves the schema of pg-boss alone.
const boss = new PgBoss({ connectionString, supervise: false, schedule: false, migrate: false, max: 2 })
boss.on('error', console.error)
await boss.start()

let moved = 0
for (let count = -1; count !== 0; moved += count) {
  count = await moveJobs({ boss, outbox, queue, batchSize: Number(batchSize) })
  if (count > 0) console.log(`${count} jobs`)
}
const left = `select count(*) from pgboss.job where name = $1 and state in ('created', 'retry', 'active')`
const { rows } = await pool.query<{ count: string }>(left, [queue])
await boss.stop({ graceful: false })
await outbox.close()
await pool.end()
console.log(`moved=${moved} left=${rows[0]!.count}`)
