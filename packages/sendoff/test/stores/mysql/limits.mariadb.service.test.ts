import { deepEqual, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { MysqlDatabase } from './mysql-database.ts'

describe('limits of rows on MySQL', () => {
  let database: MysqlDatabase
  before(async () => {
    database = await MysqlDatabase.create('limits')
  })
  after(() => database.drop())

  it('are whole numbers, since they stand in the text of statements', async () => {
    const store = mysqlStore({ client: database.mysql2Pool() })
    await store.migrate()
    const lease = { owner: 'a', ms: 1_000 }
    const invalid = { code: 'OUTBOX_INVALID_OPTION' }
    for (const limit of ['1 for update', 1.5, NaN, undefined] as number[]) {
      await rejects(store.claim({ lease, limit }), invalid)
      await rejects(store.claim({ lease, limit, rows: [{ eventId: 'a', destination: '' }] }), invalid)
      await rejects(store.people.query({ limit }), invalid)
    }
    deepEqual(await store.claim({ lease, limit: -1 }), [])
  })
})
