// A process that knows an event in one version. It sends each payload that its listener gets to its parent, and
// hangs in the tenth. Arguments: schema, and `1` or `2`.
import pg from 'pg'
import { Outbox } from '../../src/outbox/outbox.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { orderPlaced } from './order-versions.ts'

const [schema = '', version] = process.argv.slice(2)
let seen = 0
const hear = async ({ payload }: { readonly payload: unknown }) => {
  process.send?.(payload)
  if (++seen === 10) await new Promise(() => {})
}
const outbox = Outbox.multiNode({
  store: postgresStore({ client: new pg.Pool({ connectionString: process.env['POSTGRES_URL']! }), schema }),
  workerCount: 1,
  leaseMs: 500,
  unroutableDelayMs: 50,
  poller: { intervalMs: 20, batchSize: 20 },
})
if (version === '1') outbox.on(orderPlaced.first, hear)
else outbox.on(orderPlaced.second, hear)
await outbox.start()
