import { deepEqual, equal, rejects } from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { OutboxError } from '../../src/errors.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { RecordingWriterHook } from '../../src/testing/recording-writer-hook.ts'
import type { Transactions } from '../../src/transactions.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import {
  type FixtureOptions,
  onEveryStore,
  startOutbox,
  until,
  writeTested,
} from '../fixtures/outbox-fixture.ts'
import { temporaryFolder } from '../fixtures/stores.ts'

async function startOnFile(test: TestContext, options: FixtureOptions = {}) {
  const file = path.join(await temporaryFolder(test), 'app.db')
  const fixture = await startOutbox(test, sqliteStore({ open: () => new DatabaseSync(file) }), options)
  const mine = new DatabaseSync(file)
  test.after(() => mine.close())
  return { ...fixture, mine }
}

/** The calls of the hook after the end, as text: `afterCommit 1,2`. */
function toldOf(hook: RecordingWriterHook): string[] {
  return hook.calls
    .filter(({ moment }) => moment === 'afterCommit' || moment === 'afterRollback')
    .map(({ moment, events }) => `${moment} ${events.map((event) => event.payloadJson).join()}`)
}

onEveryStore(
  'a commit that the database refused is a rollback: its place is free at once, and its hook is called',
  async (test, open, mode) => {
    let isRefused = true
    const store = faultyStore(open(), {
      transaction: (real, work: any, within) =>
        real(async (tx: unknown) => {
          const result = await work(tx)
          if (isRefused) throw new OutboxError('OUTBOX_ROLLED_BACK', 'refused')
          return result
        }, within),
    })
    const writerHook = new RecordingWriterHook()
    const { outbox, metrics } = await startOutbox(test, store, { mode, hotQueueCapacity: 1, writerHook })
    await rejects(writeTested(outbox, 1), { code: 'OUTBOX_ROLLED_BACK' })
    deepEqual(toldOf(writerHook), ['afterRollback 1'])

    isRefused = false
    await writeTested(outbox, 2)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(metrics.hotEnqueued, 1)
  },
)

onEveryStore(
  'a hook is called after a commit whose answer was lost, once the database has confirmed it',
  async (test, open, mode) => {
    const store = faultyStore(open(), {
      async transaction(real, work: any) {
        await real(work)
        throw new Error('the connection broke')
      },
    })
    const writerHook = new RecordingWriterHook()
    const { outbox } = await startOutbox(test, store, { mode, writerHook })
    await rejects(writeTested(outbox, 1))
    await until(() => toldOf(writerHook).length > 0)
    deepEqual(toldOf(writerHook), ['afterCommit 1'])
  },
)

onEveryStore(
  'a hook is called after a commit whose answer was lost, also if the event has no place in the hot queue',
  async (test, open, mode) => {
    const store = faultyStore(open(), {
      async transaction(real, work: any) {
        await real(work)
        throw new Error('the connection broke')
      },
    })
    const writerHook = new RecordingWriterHook()
    const { outbox } = await startOutbox(test, store, { mode, writerHook })
    await rejects(outbox.transaction(() => outbox.write('Tested', 1, { deliverAfterMs: 600_000 })))
    await until(() => toldOf(writerHook).length > 0)
    deepEqual(toldOf(writerHook), ['afterCommit 1'])
  },
)

onEveryStore('a transaction that runs again ends its first run as rolled back', async (test, open, mode) => {
  const store = open()
  const transactions: Transactions<any, any> = {
    confirmsCommit: true,
    storeTx: (tx) => tx,
    async transaction(work, within) {
      for (;;) {
        try {
          return await store.transaction(work, { within })
        } catch (error) {
          if (!(error instanceof Conflict)) throw error
        }
      }
    },
  }
  const writerHook = new RecordingWriterHook()
  const { outbox, metrics, listener } = await startOutbox(test, store, {
    mode,
    transactions,
    writerHook,
    hotQueueCapacity: 1,
  })
  let runs = 0
  await outbox.transaction(async () => {
    await outbox.write('Tested', ++runs)
    if (runs < 3) throw new Conflict('another writer was faster')
  })
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  deepEqual(listener.payloads, [3])
  equal(metrics.hotEnqueued, 1)
  deepEqual(toldOf(writerHook), ['afterRollback 1', 'afterRollback 2', 'afterCommit 3'])
})

class Conflict extends Error {}

onEveryStore(
  'a transaction that is open when closing begins may finish, with the transactions within it',
  async (test, open, mode) => {
    const { outbox } = await startOutbox(test, open(), { mode })
    const [isOpen, mayGoOn] = [new Gate(), new Gate()]
    const transaction = outbox.transaction(async () => {
      isOpen.open()
      await mayGoOn.passed
      await outbox.transaction(() => outbox.write('Tested', 'inner'))
      await outbox.write('Tested', 'outer')
    })
    await isOpen.passed
    const closed = outbox.close()
    await rejects(
      outbox.transaction(async () => {}),
      { code: 'OUTBOX_CLOSED' },
    )
    mayGoOn.open()
    await transaction
    await closed
    const reopened = open()
    equal(await reopened.people.count({}), 2)
    await reopened.close()
  },
)

describe('on SQLite', () => {
  it('a commit that a deferred constraint refused is reported as a rollback at once', async (test) => {
    const writerHook = new RecordingWriterHook()
    const { outbox, metrics, mine } = await startOnFile(test, { hotQueueCapacity: 1, writerHook })
    mine.exec(
      'create table parents (id text primary key); create table children (parent text references parents deferrable initially deferred)',
    )
    await rejects(
      outbox.transaction(async (tx: DatabaseSync) => {
        await outbox.write('Tested', 1)
        tx.prepare('insert into children values (?)').run('nobody')
      }),
      /FOREIGN KEY/,
    )
    deepEqual(toldOf(writerHook), ['afterRollback 1'])
    await writeTested(outbox, 2)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(metrics.hotEnqueued, 1)
  })

  it('a hook gets a rollback for an event under a savepoint that was rolled back by hand', async (test) => {
    const writerHook = new RecordingWriterHook()
    const { outbox } = await startOnFile(test, { writerHook })
    await outbox.transaction(async (tx: DatabaseSync) => {
      await outbox.write('Tested', 1)
      tx.exec('savepoint mine')
      await outbox.write('Tested', 2)
      tx.exec('rollback to mine')
    })
    await until(() => toldOf(writerHook).length === 2)
    deepEqual(toldOf(writerHook).sort(), ['afterCommit 1', 'afterRollback 2'])
  })

  it('a hook gets a commit by hand, and the event is delivered', async (test) => {
    const writerHook = new RecordingWriterHook()
    const { outbox, metrics, listener } = await startOnFile(test, { writerHook })
    await rejects(
      outbox.transaction(async (tx: DatabaseSync) => {
        await outbox.write('Tested', 1)
        tx.exec('commit')
      }),
      { code: 'OUTBOX_TRANSACTION_ENDED' },
    )
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(listener.payloads, [1])
    await until(() => toldOf(writerHook).length > 0)
    deepEqual(toldOf(writerHook), ['afterCommit 1'])
  })
})
