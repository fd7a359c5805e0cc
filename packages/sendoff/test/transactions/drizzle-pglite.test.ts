import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pglite'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { drizzleTransactions } from '../../src/transactions/drizzle.ts'
import { startOutbox } from '../fixtures/outbox-fixture.ts'

const orders = pgTable('orders', { id: text().primaryKey() })

describe('the transactions of Drizzle with PGlite', () => {
  it('share its one connection with the outbox', async (test) => {
    const client = new PGlite()
    const db = drizzle(client)
    await db.execute('create table orders (id text primary key)')
    const { outbox, store, metrics, listener } = await startOutbox(test, postgresStore({ client }), {
      transactions: drizzleTransactions(db) as never,
    })
    test.after(() => client.close())

    await outbox.transaction(async (tx: Parameters<Parameters<typeof db.transaction>[0]>[0]) => {
      await tx.insert(orders).values({ id: 'o-1' })
      await outbox.write('Tested', { order: 'o-1' })
      await rejects(
        outbox.transaction(async () => {
          await outbox.write('Tested', 'lost')
          throw new Error('part says no')
        }),
      )
    })
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    await rejects(outbox.write('Tested', 'nowhere', { tx: db }), { code: 'OUTBOX_NO_TRANSACTION' })

    deepEqual(listener.payloads, [{ order: 'o-1' }])
    equal(metrics.hotEnqueued, 1)
    equal(await store.people.count({}), 1)
    deepEqual(await db.select().from(orders), [{ id: 'o-1' }])

    await db.execute('alter table outbox_event drop column headers')
    await rejects(
      outbox.transaction(() => outbox.write('Tested', 'secret')),
      (error: Error) => {
        match(error.message, /^column "headers" .+ does not exist$/)
        return true
      },
    )
  })
})
