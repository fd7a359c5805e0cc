import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { OrderPlaced, pool, ship } from './shop.ts'

const outbox = Outbox.multiNode({ store: postgresStore({ client: pool }), migrate: false })
outbox.on(OrderPlaced, ship)
await outbox.start()
console.log('The worker is ready.')

process.once('SIGTERM', () => void outbox.close().then(() => pool.end()))
