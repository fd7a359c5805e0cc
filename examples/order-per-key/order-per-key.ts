/**
 * Order per key on three processes: `npm run example:order-per-key`. Three workers share the accounts, and book
 * the changes of each account in their order. One of them is killed half-way (SIGKILL), and the other two take
 * over its accounts.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Outbox } from 'sendoff'
import { sqliteStore } from 'sendoff/sqlite'
import { AccountChanged } from './account-changed.ts'

const accountCount = 20
const changesPerAccount = 12
const total = accountCount * changesPerAccount

const folder = await mkdtemp(join(tmpdir(), 'sendoff-order-per-key-'))
const ledger = new DatabaseSync(join(folder, 'ledger.db'))
// It takes an event twice: after a kill the last event of an account may come again.
ledger.exec(`
  pragma journal_mode = wal;
  pragma synchronous = normal;
  create table entries (
    place integer primary key, event_id text not null, account text not null, number int not null, worker text not null)`)

const store = sqliteStore({
  open: () => new DatabaseSync(join(folder, 'accounts.db')),
  synchronous: 'NORMAL',
})
const writer = await Outbox.writerOnly({ store }).start()
const workers: ChildProcess[] = []
try {
  workers.push(...(await Promise.all(['worker-1', 'worker-2', 'worker-3'].map(startWorker))))
  for (let number = 1; number <= changesPerAccount; number += 1) {
    await writer.transaction(async () => {
      for (let account = 1; account <= accountCount; account += 1) {
        await writer.write(AccountChanged, { account: `a-${account}`, number })
      }
    })
  }

  // All three have booked something.
  while (count('count(distinct worker)') < 3) await sleep(10)
  workers[0]!.kill('SIGKILL')
  await once(workers[0]!, 'exit')
  const takenOver = total - count('count(distinct event_id)')
  while (count('count(distinct event_id)') < total) await sleep(20)

  console.log(`worker-1 was killed when ${takenOver > 0 ? 'events' : 'no events'} waited`)
  console.log(
    `events=${count('count(distinct event_id)')} workers=${count('count(distinct worker)')} out of order=${outOfOrder()}`,
  )
} finally {
  await Promise.all(workers.map(endWorker))
  await writer.close()
  ledger.close()
  await rm(folder, { recursive: true, force: true })
}

async function startWorker(name: string): Promise<ChildProcess> {
  const worker = fork(join(import.meta.dirname, 'worker.ts'), [folder, name])
  await once(worker, 'message')
  return worker
}

async function endWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  worker.kill('SIGTERM')
  await once(worker, 'exit')
}

function count(what: string): number {
  return Number(ledger.prepare(`select ${what} as count from entries`).get()!['count'])
}

/** Counts the changes that were first booked after a later one of their account. */
function outOfOrder(): number {
  const first = 'select account, number, min(place) as place from entries group by event_id'
  const sql = `select count(*) as count from (${first}) as one join (${first}) as other
    on one.account = other.account and one.number < other.number and one.place > other.place`
  return Number(ledger.prepare(sql).get()!['count'])
}
