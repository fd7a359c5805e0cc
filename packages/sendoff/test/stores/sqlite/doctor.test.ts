import { deepEqual, match } from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { codesOf, expectFinding } from '../../fixtures/doctor-codes.ts'
import { temporaryFolder } from '../../fixtures/stores.ts'

async function opened(test: TestContext) {
  const file = path.join(await temporaryFolder(test), 'app.db')
  let handle!: DatabaseSync
  const store = sqliteStore({ open: () => (handle = new DatabaseSync(file)) })
  test.after(() => store.close())
  await store.migrate()
  return { store, handle, file }
}

describe('the doctor of an SQLite store', () => {
  it('finds nothing in a healthy file, or in memory', async (test) => {
    deepEqual(await codesOf((await opened(test)).store), [])
    const memory = sqliteStore({ open: () => new DatabaseSync(':memory:') })
    test.after(() => memory.close())
    await expectFinding(memory, 'SCHEMA_MISSING', 'error')
    await memory.migrate()
    deepEqual(await codesOf(memory), [])
  })

  it('finds a schema that is behind or too new, and its SQL is the cure', async (test) => {
    const { store, handle } = await opened(test)
    handle.exec(`update outbox_event_meta set value = '99' where key = 'oldest_code'`)
    await expectFinding(store, 'SCHEMA_TOO_NEW', 'error')
    handle.exec(`update outbox_event_meta set value = '1' where key in ('revision', 'oldest_code')`)
    const behind = await expectFinding(store, 'SCHEMA_BEHIND', 'warning')
    handle.exec(behind.sql!)
    deepEqual(await codesOf(store), [])
  })

  it('finds indexes that are missing or altered, and its SQL is the cure', async (test) => {
    const { store, handle } = await opened(test)
    handle.exec('drop index outbox_event_due')
    handle.exec((await expectFinding(store, 'INDEX_MISSING', 'error')).sql!)
    handle.exec('drop index outbox_event_dead; create index outbox_event_dead on outbox_event (seq)')
    handle.exec((await expectFinding(store, 'INDEX_ALTERED', 'warning')).sql!)
    deepEqual(await codesOf(store), [])
  })

  it('misses the indexes by destination as soon as the table has a routing', async (test) => {
    const { store, handle } = await opened(test)
    await store.routing.publish({ version: 1, content: '{"rules":[],"default":[""]}' })
    for (let missing = 2; missing > 0; missing -= 1) {
      const { message, sql } = await expectFinding(store, 'INDEX_MISSING', 'warning')
      match(message, /"outbox_event_(destination|lane)".* pass over the events that wait for others/)
      handle.exec(sql!)
    }
    deepEqual(await codesOf(store), [])
  })

  it('finds pragmas that lose events or block readers, and a file that is mostly empty', async (test) => {
    const { store, handle } = await opened(test)
    handle.exec('pragma synchronous = off')
    handle.exec((await expectFinding(store, 'DURABILITY_OFF', 'error')).sql!)
    handle.exec('pragma journal_mode = delete')
    handle.exec((await expectFinding(store, 'JOURNAL_NOT_WAL', 'warning')).sql!)

    handle.exec('create table filler (text)')
    handle.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
                 insert into filler select hex(zeroblob(2000)) from n`)
    handle.exec('drop table filler')
    handle.exec((await expectFinding(store, 'DATABASE_BLOATED', 'warning', { bloatBytes: 100_000 })).sql!)
    deepEqual(await codesOf(store, { bloatBytes: 100_000 }), [])
  })
})
