/**
 * Moves the unsent messages of a hand-written table to the outbox in the same database:
 * `DATABASE_URL=postgres://… node examples/moving-in/hand-written-table/import.ts [BATCH]`. Run it again, at any
 * time, until nothing is left.
 */
import pg from 'pg'
import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { moveMessages } from './move-messages.ts'

const [batchSize = '100'] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL']!, max: 4 })
const outbox = await Outbox.writerOnly({ store: postgresStore({ client: pool }) }).start()

let moved = 0
for (let count = -1; count !== 0; moved += count) {
  count = await moveMessages({ outbox, batchSize: Number(batchSize) })
  if (count > 0) console.log(`${count} messages`)
}
const left = 'select count(*) from messages where sent_at is null'
const { rows } = await pool.query<{ count: string }>(left)
await outbox.close()
await pool.end()
console.log(`moved=${moved} left=${rows[0]!.count}`)
