import { deepEqual, equal, rejects } from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { startOutbox } from '../fixtures/outbox-fixture.ts'
import { temporaryFolder } from '../fixtures/stores.ts'

async function startOnFile(test: TestContext) {
  const file = path.join(await temporaryFolder(test), 'app.db')
  const fixture = await startOutbox(test, sqliteStore({ open: () => new DatabaseSync(file) }))
  const mine = new DatabaseSync(file)
  test.after(() => mine.close())
  return { ...fixture, mine }
}

describe('on SQLite', () => {
  it('business data and event are committed together', async (test) => {
    const { outbox, metrics, mine } = await startOnFile(test)
    mine.exec('create table orders (id text)')
    await outbox.transaction(async (tx: DatabaseSync) => {
      tx.prepare('insert into orders values (?)').run('o-1')
      await outbox.write('Tested', 'o-1')
      equal(mine.prepare('select count(*) as n from orders').get()!['n'], 0)
    })
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(mine.prepare('select count(*) as n from orders').get()!['n'], 1)
  })

  it('an event under a savepoint that was rolled back by hand is never delivered', async (test) => {
    const { outbox, store, metrics, listener } = await startOnFile(test)
    await outbox.transaction(async (tx: DatabaseSync) => {
      await outbox.write('Tested', 'kept')
      tx.exec('savepoint mine')
      await outbox.write('Tested', 'rolled back')
      tx.exec('rollback to mine')
      await outbox.write('Tested', 'after')
    })
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    deepEqual(listener.payloads, ['kept', 'after'])
    equal(await store.people.count({}), 2)
  })

  it('an event of an inner transaction under a savepoint that was rolled back by hand is never delivered', async (test) => {
    const { outbox, store, metrics, listener } = await startOnFile(test)
    await outbox.transaction(async (tx: DatabaseSync) => {
      tx.exec('savepoint mine')
      await outbox.transaction(() => outbox.write('Tested', 'rolled back'))
      tx.exec('rollback to mine')
      await outbox.write('Tested', 'after')
    })
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(listener.payloads, ['after'])
    equal(await store.people.count({}), 1)
  })

  it('an event in a transaction that was rolled back by hand is never delivered', async (test) => {
    const { outbox, store, listener } = await startOnFile(test)
    await rejects(
      outbox.transaction(async (tx: DatabaseSync) => {
        await outbox.write('Tested', 'gone')
        tx.exec('rollback')
      }),
      { code: 'OUTBOX_TRANSACTION_ENDED' },
    )
    await rejects(
      outbox.transaction(async (tx: DatabaseSync) => {
        await outbox.write('Tested', 'gone as well')
        tx.exec('rollback; begin')
        await outbox.write('Tested', 'part of something else')
      }),
      { code: 'OUTBOX_TRANSACTION_ENDED' },
    )
    equal(await store.people.count({}), 0)
    equal(listener.events.length, 0)
  })

  it('writes into a transaction that other code opened, and delivers after its commit', async (test) => {
    const { outbox, metrics, mine, listener } = await startOnFile(test)
    mine.exec('begin immediate')
    await outbox.write('Tested', 'theirs', { tx: mine })
    mine.exec('commit')
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(metrics.hotEnqueued, 0)

    mine.exec('begin immediate')
    await outbox.write('Tested', 'rolled back', { tx: mine })
    mine.exec('rollback')
    mine.exec('begin immediate')
    await outbox.write('Tested', 'again', { tx: mine })
    mine.exec('commit')
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    deepEqual(listener.payloads, ['theirs', 'again'])
  })

  it('a loop of transactions without a pause does not starve delivery', async (test) => {
    const { outbox, metrics } = await startOnFile(test)
    const startedAt = performance.now()
    while (metrics.dispatchSuccess === 0) {
      await outbox.transaction(() => outbox.write('Tested', 1))
      equal(performance.now() - startedAt < 5_000, true, 'nothing was delivered while transactions went on')
    }
  })

  it('refuses calls that would wait for the transaction they are made in', async (test) => {
    const { outbox, metrics } = await startOnFile(test)
    await outbox.transaction(async () => {
      await outbox.write('Tested', 1)
      for (const call of [() => outbox.deadEvents.count(), () => outbox.poll(), () => outbox.paused()]) {
        await rejects(call, { code: 'OUTBOX_INSIDE_TRANSACTION', message: /before or after the transaction/ })
      }
    })
    await metrics.until((seen) => seen.dispatchSuccess === 1)
  })

  it('refuses a handle that is not in a transaction', async (test) => {
    const { outbox, mine } = await startOnFile(test)
    await rejects(outbox.write('Tested', 1, { tx: mine }), { code: 'OUTBOX_NO_TRANSACTION' })
  })
})
