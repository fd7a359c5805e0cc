// A process of its own that works on a PostgreSQL schema as the tests tell it: reports `ready`, then does
// what its first argument says as soon as it gets a message, and reports what came of it.
import { once } from 'node:events'
import pg from 'pg'
import { postgresStore } from '../../../src/stores/postgres/index.ts'

const [task, schema = '', name = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: process.env['POSTGRES_URL']!, max: 2 })
const isPartitioned = task === 'claimPartitioned'
const store = postgresStore({ client: pool, schema, ...(isPartitioned && { partitionBy: 'day' }) })

const tasks: Readonly<Record<string, () => Promise<unknown>>> = {
  migrate: () => store.migrate(),

  claim: claimAll,
  claimPartitioned: claimAll,
}

process.send?.('ready')
await once(process, 'message')
const result = await tasks[task ?? '']!()
process.send?.({ result: result ?? null })
await store.close()
await pool.end()
process.disconnect()

/** Claims until nothing comes any more, and answers the ids. */
async function claimAll(): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const rows = await store.claim({ lease: { owner: name, ms: 30_000 }, limit: 25 })
    if (rows.length === 0) return ids
    ids.push(...rows.map((row) => row.eventId))
  }
}
