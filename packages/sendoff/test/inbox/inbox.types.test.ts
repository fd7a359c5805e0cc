import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NodePgDatabase, NodePgTransaction } from 'drizzle-orm/node-postgres'
import type { Pool, PoolClient } from 'pg'
import { Inbox } from '../../src/inbox/index.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { Outbox as Outboxes } from '../../src/outbox/outbox.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { drizzleTransactions } from '../../src/transactions/drizzle.ts'

// The compiler does these checks: an expected error that does not occur is an error.
describe('the types of an inbox', () => {
  it('only a call that does not wait can be busy', () => {
    const check = async (inbox: Inbox<PoolClient>) => {
      const waited: 'processed' | 'duplicate' = await inbox.process('m', () => {})
      const alsoWaited: 'processed' | 'duplicate' = await inbox.process('m', () => {}, { wait: true })
      // @ts-expect-error A consumer must not take `busy` for one of the others.
      const unsafe: 'processed' | 'duplicate' = await inbox.process('m', () => {}, { wait: false })
      return [waited, alsoWaited, unsafe]
    }
    equal(typeof check, 'function')
  })

  it('a handler gets the transaction of the outbox: that of the driver or of the ORM', () => {
    const check = async (pool: Pool, db: NodePgDatabase, plain: Outbox<PoolClient>) => {
      await new Inbox({ outbox: plain, consumer: 'c' }).process('m', (tx: PoolClient) => tx.query('select 1'))
      const outbox = Outboxes.writerOnly({
        store: postgresStore({ client: pool }),
        transactions: drizzleTransactions(db),
        writerHook: {},
      })
      const inbox = new Inbox({ outbox, consumer: 'c' })
      const handler = (tx: NodePgTransaction<Record<string, never>, never>) => tx.execute('select 1')
      await inbox.process('m', handler as never, { transaction: { isolationLevel: 'serializable' } })
      // @ts-expect-error The options are those of the ORM.
      await inbox.process('m', () => {}, { transaction: { isolation: 'serializable' } })
    }
    equal(typeof check, 'function')
  })
})
