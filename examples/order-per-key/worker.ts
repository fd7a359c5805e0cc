/** A worker, a process of its own: `node worker.ts FOLDER NAME`. It ends by SIGTERM. */
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixedDelay, ListenerRegistry, Outbox } from 'sendoff'
import { sqliteStore } from 'sendoff/sqlite'
import { AccountChanged } from './account-changed.ts'

const [folder, name] = process.argv.slice(2) as [string, string]
const asked = once(process, 'SIGTERM')
const ledger = new DatabaseSync(join(folder, 'ledger.db'))
ledger.exec('pragma synchronous = normal; pragma busy_timeout = 5000')
const book = ledger.prepare('insert into entries (event_id, account, number, worker) values (?, ?, ?, ?)')

const listeners = new ListenerRegistry().register(AccountChanged, async (event, { attempt }) => {
  const { account, number } = event.payload
  // A failure holds up its account, and no other.
  if (number === 3 && attempt === 1) throw new Error('The ledger is busy.')
  await sleep(5)
  book.run(event.eventId, account, number, name)
})
const outbox = await Outbox.partitioned({
  // A commit survives the end of a process, and the example ends only processes.
  store: sqliteStore({ open: () => new DatabaseSync(join(folder, 'accounts.db')), synchronous: 'NORMAL' }),
  listeners,
  workerCount: 4,
  retryPolicy: fixedDelay(50),
  ownerId: name,
  // Short, so that a takeover is quick to watch; the default is 30 seconds.
  leaseMs: 1_500,
  poller: { intervalMs: 100 },
  logger: false,
}).start()
process.send?.('ready')

await asked
await outbox.close()
ledger.close()
process.disconnect?.()
