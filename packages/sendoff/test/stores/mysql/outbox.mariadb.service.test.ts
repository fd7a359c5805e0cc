import { deepEqual, equal, rejects } from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { type FixtureOptions, startOutbox } from '../../fixtures/outbox-fixture.ts'
import { MysqlDatabase } from './mysql-database.ts'

interface Tx {
  query(sql: string): Promise<unknown>
}

const database = await MysqlDatabase.create('outbox')
after(() => database.drop())

const pools = { mysql2: database.mysql2Pool(), mariadb: database.mariadbPool() }
let tables = 0

for (const [driver, client] of Object.entries(pools)) {
  describe(`an outbox on MariaDB by ${driver}`, () => {
    const start = (test: TestContext, options: FixtureOptions = {}) => {
      const store = mysqlStore({ client: client as never, table: `outbox_${++tables}` })
      return startOutbox(test, store, options)
    }

    it('delivers what was committed straight from memory', async (test) => {
      const { outbox, store, metrics, listener } = await start(test, { poller: { enabled: false } })
      await outbox.transaction(async (tx) => {
        await tx.query('select 1')
        await outbox.write('Tested', 1)
        equal(await store.people.count({}), 0)
      })
      await metrics.until((seen) => seen.dispatchSuccess === 1)

      deepEqual(listener.payloads, [1])
      equal(metrics.hotEnqueued, 1)
    })

    it('delivers nothing of a transaction, or of a part of one, that was undone', async (test) => {
      const { outbox, metrics, listener } = await start(test)
      await rejects(
        outbox.transaction(async () => {
          await outbox.write('Tested', 'lost')
          throw new Error('business says no')
        }),
        /business says no/,
      )
      await outbox.transaction(async () => {
        await outbox.write('Tested', 'kept')
        await rejects(
          outbox.transaction(async () => {
            await outbox.write('Tested', 'lost with its part')
            throw new Error('not this one')
          }),
          /not this one/,
        )
        await outbox.transaction(() => outbox.write('Tested', 'kept with its part'))
      })
      await metrics.until((seen) => seen.dispatchSuccess === 2)

      deepEqual(listener.payloads.toSorted(), ['kept', 'kept with its part'])
    })

    it('delivers what was written in a transaction that somebody else has opened', async (test) => {
      const { outbox, metrics, listener } = await start(test, { poller: { intervalMs: 20 } })
      const connection = await (client as typeof pools.mysql2).getConnection()
      await rejects(outbox.write('Tested', 'alone', { tx: connection as unknown as Tx }), {
        code: 'OUTBOX_NO_TRANSACTION',
      })
      await connection.beginTransaction()
      await outbox.write('Tested', 'foreign', { tx: connection as unknown as Tx })
      await connection.commit()
      connection.release()
      await metrics.until((seen) => seen.dispatchSuccess === 1)

      deepEqual(listener.payloads, ['foreign'])
    })
  })
}
