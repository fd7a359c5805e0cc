import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import type { PgTransactionConfig } from 'drizzle-orm/pg-core'
import type { Pool, PoolClient } from 'pg'
import type { DataSource, EntityManager } from 'typeorm'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore, type MemoryTx } from '../../src/stores/memory/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { testOutbox, type TestOutbox } from '../../src/testing/index.ts'
import { drizzleTransactions } from '../../src/transactions/drizzle.ts'
import { typeormTransactions } from '../../src/transactions/typeorm.ts'
import type { EventWriter } from '../../src/write/event-writer.ts'

const orders = pgTable('orders', { id: text().primaryKey() })
type DrizzleTx = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]

// The compiler does these checks: an expected error that does not occur is an error.
describe('the types of a test outbox', () => {
  it('are those of PostgreSQL and an ORM, with its options', () => {
    const typed = async (client: Pool, db: NodePgDatabase, dataSource: DataSource) => {
      const store = postgresStore({ client })
      const outbox = await testOutbox({ store, transactions: drizzleTransactions(db) })
      await outbox.transaction((tx) => tx.insert(orders).values({ id: 'o-1' }), {
        isolationLevel: 'serializable',
        deferrable: true,
      })
      // @ts-expect-error there is no such level
      await outbox.transaction(async () => {}, { isolationLevel: 'none' })
      const asTest: TestOutbox<DrizzleTx, PoolClient, PgTransactionConfig> = outbox
      const asWriter: EventWriter<DrizzleTx> = asTest
      await asWriter.transaction((tx) => tx.insert(orders).values({ id: 'o-2' }))

      const other = await testOutbox({
        mode: 'partitioned',
        store,
        transactions: typeormTransactions(dataSource),
      })
      await other.transaction((manager: EntityManager) => manager.save('orders', { id: 'o-3' }), {
        isolationLevel: 'SERIALIZABLE',
      })
    }
    equal(typeof typed, 'function')
  })

  it('are those of the store in memory if none is given, whatever the expected type', () => {
    const typed = async () => {
      const outbox: Outbox<MemoryTx> = await testOutbox()
      // @ts-expect-error the transaction is not one of Drizzle's
      const asDrizzle: Outbox<DrizzleTx> = await testOutbox()
      // @ts-expect-error the transaction is not one of Drizzle's
      const asWriter: EventWriter<DrizzleTx> = await testOutbox()
      const place = (events: EventWriter<DrizzleTx>) => events.write('Any', 1)
      // @ts-expect-error the transaction is not one of Drizzle's
      await place(await testOutbox({ mode: 'ordered' }))
      // @ts-expect-error the transaction is not one of Drizzle's
      await place(outbox)
      // Code that does not touch the transaction accepts every outbox.
      const anyWriter: EventWriter = await testOutbox()
      return [asDrizzle, asWriter, anyWriter]
    }
    equal(typeof typed, 'function')
  })

  it('come from the store of every preset, too', () => {
    const typed = (listeners: ListenerRegistry) => {
      const store = memoryStore()
      const place = (events: EventWriter<DrizzleTx>) => events.write('Any', 1)
      return [
        // @ts-expect-error the transaction is not one of Drizzle's
        place(Outbox.singleNode({ store, listeners })),
        // @ts-expect-error the transaction is not one of Drizzle's
        place(Outbox.multiNode({ store, listeners })),
        // @ts-expect-error the transaction is not one of Drizzle's
        place(Outbox.singleWriter({ store, listeners })),
        // @ts-expect-error the transaction is not one of Drizzle's
        place(Outbox.ordered({ store, listeners })),
        // @ts-expect-error the transaction is not one of Drizzle's
        place(Outbox.partitioned({ store, listeners })),
        // @ts-expect-error the transaction is not one of Drizzle's
        place(Outbox.writerOnly({ store })),
      ]
    }
    equal(typeof typed, 'function')
  })
})
