// A process of its own that plans and runs a replay on a PostgreSQL schema, and kills itself during the batch
// after half of the events: the server has got the batch, and its answer is lost. Arguments: schema, events per
// second, half of the events.
import pg from 'pg'
import { outboxAdmin } from '../../src/admin/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

const [schema = '', rate = '', half = ''] = process.argv.slice(2)
const client = new pg.Pool({
  connectionString: process.env['POSTGRES_URL']!,
  application_name: schema,
  max: 2,
})
const store = postgresStore({ client, schema })
let acted = 0
const run: typeof store.actions.run = (request) => {
  const running = store.actions.run(request)
  if (acted >= Number(half)) setImmediate(() => process.kill(process.pid, 'SIGKILL'))
  return running
}
const admin = outboxAdmin({ store: { ...store, actions: { ...store.actions, run } } }).as('ann')
const plan = await admin.plan('replay', {}, { all: true })
await admin.run(plan, {
  ratePerSecond: Number(rate),
  onProgress: (progress) => {
    acted = progress.acted
  },
})
