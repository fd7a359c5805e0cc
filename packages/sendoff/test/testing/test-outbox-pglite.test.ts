import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pglite'
import { defineEvent } from '../../src/event/event-type.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { fakeClock, testOutbox } from '../../src/testing/index.ts'
import { drizzleTransactions } from '../../src/transactions/drizzle.ts'

const orders = pgTable('orders', { id: text().primaryKey() })
const Placed = defineEvent<{ readonly order: string }>('Placed')

describe('a test outbox with PostgreSQL and an ORM', () => {
  it('refuses a clock that the database does not use, and delivers in real time without one', async (test) => {
    const client = new PGlite()
    const db = drizzle(client)
    await db.execute('create table orders (id text primary key)')
    const store = postgresStore({ client })
    const transactions = drizzleTransactions(db)
    await rejects(testOutbox({ store, transactions, clock: fakeClock() }), {
      code: 'OUTBOX_INVALID_OPTION',
      message: /The store of testOutbox does not use the "clock" of its outbox/,
    })

    const outbox = await testOutbox({ store, transactions, timeLimitMs: 30_000 })
    test.after(async () => {
      await outbox.close()
      await client.close()
    })
    deepEqual(await outbox.written(), [])
    const place = (id: string) =>
      outbox.transaction(async (tx) => {
        await outbox.write(Placed, { order: id })
        await tx.insert(orders).values({ id })
      })
    await place('o-1')
    await rejects(place('o-1'))
    equal((await outbox.waitFor(Placed)).payload.order, 'o-1')
    deepEqual(
      (await outbox.written(Placed)).map(({ status }) => status),
      ['DONE'],
    )
  })
})
