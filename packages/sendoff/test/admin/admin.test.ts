import { equal, rejects } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { outboxAdmin } from '../../src/admin/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { migrationsFor } from '../../src/stores/sqlite/schema/migrations.ts'
import { sqliteTables } from '../../src/stores/sqlite/schema/sqlite-tables.ts'
import { kill, testAdmin } from './admin-behaviour.ts'
import { testOnlyLooking } from './only-looking.ts'

const folder = mkdtempSync(join(tmpdir(), 'sendoff-admin-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0

testAdmin('memory', async () => memoryStore())
testAdmin('SQLite', async () => openSqlite(newFile()))

describe('admin on SQLite', () => {
  it('looks at a database that it may only read, and says so when it should act', async () => {
    const file = newFile()
    const store = await openSqlite(file)
    const reader = sqliteStore({ open: () => new DatabaseSync(file, { readOnly: true }) })
    await testOnlyLooking(store, async () => reader)
    await reader.close()
    await store.close()
  })

  it('never migrates, and says what to call if there is no schema', async () => {
    const file = newFile()
    const store = sqliteStore({ open: () => new DatabaseSync(file) })
    const admin = outboxAdmin({ store })
    await rejects(admin.overview(), { code: 'OUTBOX_SCHEMA_NOT_READY', message: /store\.migrate\(\)/ })
    await store.migrate()
    equal((await admin.overview()).counts.DEAD.count, 0)
    await store.close()
  })

  it('looks at a schema of the first release, and says what to call before it can act', async () => {
    const file = newFile()
    const database = new DatabaseSync(file)
    const tables = sqliteTables('outbox_event')
    database.exec(migrationsFor(tables)[0]!.sql)
    database.exec(`insert into ${tables.meta} values ('version', '1')`)
    database.close()
    const store = sqliteStore({ open: () => new DatabaseSync(file) })
    await kill(store, 1, 'Error: no')
    const admin = outboxAdmin({ store }).as('ann')
    equal((await admin.browse({ status: 'DEAD' })).events.length, 1)
    const plan = await admin.plan('replay', {}, { all: true })
    const behind = { code: 'OUTBOX_SCHEMA_NOT_READY', message: /store\.migrate\(\)/ }
    await rejects(admin.run(plan), behind)
    await rejects(admin.audit.list(), behind)
    await store.migrate()
    equal((await admin.run(plan)).acted, 1)
    await store.close()
  })

  it('says that the schema is ahead of this code', async () => {
    const file = newFile()
    const store = await openSqlite(file)
    await store.transaction(async (tx) => {
      tx.exec(`insert or replace into outbox_event_meta (key, value) values ('oldest_code', '99')`)
    })
    await rejects(outboxAdmin({ store }).overview(), { code: 'OUTBOX_SCHEMA_TOO_NEW' })
    await store.close()
  })
})

describe('admin on a store without the parts for operators', () => {
  it('names the part that is missing', async () => {
    const { looks: _looks, actions: _actions, ...store } = memoryStore()
    const admin = outboxAdmin({ store }).as('ann')
    await rejects(admin.overview(), { code: 'OUTBOX_STORE_CANNOT', message: /"looks"/ })
    await rejects(admin.event('x'), { code: 'OUTBOX_STORE_CANNOT', message: /"looks" and "actions"/ })
  })
})

function newFile(): string {
  return join(folder, `${++files}.db`)
}

async function openSqlite(file: string) {
  const store = sqliteStore({ open: () => new DatabaseSync(file), synchronous: 'NORMAL' })
  await store.migrate()
  return store
}
