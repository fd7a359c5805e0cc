import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pglite'
import { MailOutbox, MailOutboxWorker } from '../../src/mail/index.ts'
import { memoryStore, type MemoryTx } from '../../src/stores/memory/index.ts'
import { postgresStore, type PostgresTx } from '../../src/stores/postgres/index.ts'
import { drizzleTransactions } from '../../src/transactions/drizzle.ts'
import { welcome } from './mail-fixture.ts'
import { RecordingTransport } from './recording-transport.ts'

const orders = pgTable('orders', { id: text().primaryKey() })

describe('a mail outbox in the transactions of an ORM', () => {
  it('writes mails in the transaction of the ORM, and types the transaction as the ORM does', async (test) => {
    const client = new PGlite()
    const db = drizzle(client)
    await db.execute('create table orders (id text primary key)')
    const mail = new MailOutbox({
      store: postgresStore({ client, table: 'mail_outbox' }),
      transactions: drizzleTransactions(db),
    })
    const injected: MailOutbox<
      Parameters<Parameters<typeof db.transaction>[0]>[0],
      PostgresTx<PGlite>,
      object
    > = mail
    equal(injected, mail)
    const own = new MailOutbox({ store: memoryStore() })
    const typed: MailOutbox<MemoryTx> = own
    equal(typed, own)
    const transport = new RecordingTransport()
    const worker = await new MailOutboxWorker({ outbox: mail, transports: { default: transport } }).start()
    test.after(async () => {
      await worker.close()
      await mail.close()
      await client.close()
    })

    await mail.transaction(async (tx) => {
      await tx.insert(orders).values({ id: 'o-1' })
      await mail.enqueue({ ...welcome, subject: 'ambient' })
    })
    await db.transaction(async (tx) => {
      await tx.insert(orders).values({ id: 'o-2' })
      await mail.enqueue({ ...welcome, subject: 'named' }, { tx })
    })
    const undone = mail.transaction(async (tx) => {
      await tx.insert(orders).values({ id: 'o-3' })
      await mail.enqueue({ ...welcome, subject: 'undone' })
      throw new Error('no')
    })
    await rejects(undone, /^Error: no$/)
    await worker.drain()

    deepEqual(transport.sent.map(({ subject }) => subject).toSorted(), ['ambient', 'named'])
    equal((await db.select().from(orders)).length, 2)
  })
})
