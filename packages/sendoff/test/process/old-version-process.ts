// A process that knows version 1 of an event only. It sends each payload that its listener gets to its parent,
// and hangs in the tenth. Argument: schema.
import pg from 'pg'
import { defineEvent } from '../../src/event/event-type.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

const [schema = ''] = process.argv.slice(2)
let seen = 0
await Outbox.multiNode({
  store: postgresStore({ client: new pg.Pool({ connectionString: process.env['POSTGRES_URL']! }), schema }),
  workerCount: 1,
  leaseMs: 500,
  unroutableDelayMs: 50,
  poller: { intervalMs: 20, batchSize: 20 },
})
  .on(defineEvent<{ id: number; cents: number }>('OrderPlaced'), async ({ payload }) => {
    process.send?.(payload)
    if (++seen === 10) await new Promise(() => {})
  })
  .start()
