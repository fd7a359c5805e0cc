// A process of its own that plans and runs a replay on a PostgreSQL schema, and reports its progress until it
// is killed. Arguments: schema, events per second.
import pg from 'pg'
import { outboxAdmin } from '../../src/admin/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

const [schema = '', rate = ''] = process.argv.slice(2)
const client = new pg.Pool({ connectionString: process.env['POSTGRES_URL']!, max: 2 })
const admin = outboxAdmin({ store: postgresStore({ client, schema }) }).as('ann')
const plan = await admin.plan('replay', {}, { all: true })
await admin.run(plan, {
  ratePerSecond: Number(rate),
  onProgress: (progress) => process.send?.(progress),
})
process.disconnect()
