/**
 * Moving from a hand-written outbox table while its relays go on: `npm run example:moving-in`. It follows the
 * steps of docs/moving-in.md. An import is killed half-way (SIGKILL) and run again, and every message is sent
 * once. It uses an empty database in `DATABASE_URL`, or starts a private one.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { openPostgres } from '../open-postgres.ts'
import { messagesTable, relay } from './hand-written-table/old-relay.ts'

const oldCount = 300
const newCount = 20

const database = await openPostgres()
const pool = new pg.Pool({ connectionString: database.url })
await pool.query(messagesTable)
// It takes a number twice, so that the end can count.
await pool.query('create table sent (number int not null, by text not null)')
await pool.query(
  `insert into messages (topic, payload)
   select 'InvoiceWanted', json_build_object('number', number) from generate_series(1, $1::int) as number`,
  [oldCount],
)
console.log(`${oldCount} messages wait, and two relays send them.`)
const stop = new AbortController()
const relays = Promise.all([relay(pool, slowly, stop.signal), relay(pool, slowly, stop.signal)])
while ((await sentBy('relay')) < 10) await sleep(5)

const outbox = Outbox.multiNode({ store: postgresStore({ client: pool }) })
outbox.on('InvoiceWanted', (event) => send(event.payload, 'outbox'))
await outbox.start()
console.log('1. A worker of the outbox listens.')

for (let number = oldCount + 1; number <= oldCount + newCount; number += 1) {
  await outbox.transaction(() => outbox.write('InvoiceWanted', { number }))
}
console.log(`2. The new code writes ${newCount} events. Nobody writes messages any more.`)

const killed = startImport('5')
killed.stdout!.once('data', () => killed.kill('SIGKILL'))
await once(killed, 'exit')
console.log('3. An import was killed half-way.')
for (let left = 1; left > 0;) {
  const report = await text(startImport('100').stdout!)
  left = Number(/left=(\d+)/.exec(report)![1])
  console.log(
    `4. Another import moves the rest, and leaves ${left === 0 ? 'none' : 'those that a relay is sending'}.`,
  )
}

stop.abort()
await relays
await pool.query('drop table messages')
console.log('5. The relays have ended, and the old table is gone.')

await outbox.drain()
const [byRelay, byOutbox] = [await sentBy('relay'), await sentBy('outbox')]
const { rows } = await pool.query<{ different: number }>(
  'select count(distinct number)::int as different from sent',
)
const { different } = rows[0]!
console.log(`The relays sent ${byRelay} messages, and the outbox ${byOutbox} events.`)
console.log(`lost=${oldCount + newCount - different} twice=${byRelay + byOutbox - different}`)
await outbox.close()
await pool.end()
await database.close()

async function slowly(_topic: string, payload: unknown): Promise<void> {
  await sleep(20)
  await send(payload, 'relay')
}

async function send(payload: unknown, by: string): Promise<void> {
  await pool.query('insert into sent values ($1, $2)', [(payload as { number: number }).number, by])
}

async function sentBy(by: string): Promise<number> {
  const counted = await pool.query<{ count: number }>(
    'select count(*)::int as count from sent where by = $1',
    [by],
  )
  return counted.rows[0]!.count
}

/** Starts the script that docs/moving-in/hand-written-table.md shows. */
function startImport(batchSize: string): ChildProcess {
  return spawn(process.execPath, [join(import.meta.dirname, 'hand-written-table/import.ts'), batchSize], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, DATABASE_URL: database.url },
  })
}
