import { deepEqual, equal, rejects } from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { MailOutbox } from '../../../src/mail/mail-outbox.ts'
import { MailOutboxWorker } from '../../../src/mail/mail-outbox-worker.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { temporaryFolder } from '../../fixtures/stores.ts'

const presets = ['singleNode', 'multiNode', 'singleWriter', 'ordered', 'partitioned', 'writerOnly'] as const
const lease = { owner: 'test', ms: 30_000 }

describe('sqlite store: bringing the schema in', () => {
  it('the SQL of the schema can be run again, also beside rows, and changes nothing then', async (t) => {
    const { store, database } = await newFile(t)
    database.exec(store.schemaSql())
    await store.transaction(async (tx) => void (await store.insert({ tx, rows: sampleRows(2), lease })))
    database.exec(store.schemaSql())
    await store.migrate()
    database.exec(store.schemaSql())

    equal((await store.claim({ lease, limit: 10 })).length, 2)
  })

  it('what was dropped by hand is made anew, whatever is left', async (t) => {
    const { store, database, tables } = await newFile(t)
    const mails = new MailOutbox({ store })
    await mails.initSchema()
    const names = tables()
    equal(names.length, 12)
    for (const name of names) {
      database.exec(`drop table ${name}`)
      await mails.initSchema()
      deepEqual(tables(), names)
      await store.transaction(async (tx) => void (await store.insert({ tx, rows: sampleRows(1), lease })))
    }
    for (const name of names) database.exec(`drop table ${name}`)
    await mails.initSchema()
    equal(await store.people.count({}), 0)
  })

  it('a start that may create nothing says what is missing, with every preset', async (t) => {
    for (const preset of presets) {
      const { store, database, tables } = await newFile(t)
      const listeners = preset === 'writerOnly' ? {} : { listeners: new ListenerRegistry() }
      const start = () =>
        Outbox[preset]({ store, migrate: false, logger: false, ...listeners } as never).start()
      await rejects(start(), {
        code: 'OUTBOX_SCHEMA_NOT_READY',
        message: /lacks all of outbox_event, .*store\.migrate\(\).*store\.schemaSql\(\)/,
      })
      deepEqual(tables(), [])
      await store.migrate()
      database.exec('drop table outbox_event_inbox')
      await rejects(start(), { code: 'OUTBOX_SCHEMA_NOT_READY', message: /it lacks outbox_event_inbox\./ })
      await store.migrate()
      database.exec(`update outbox_event_meta set value = '0' where key = 'revision'`)
      await rejects(start(), { code: 'OUTBOX_SCHEMA_NOT_READY', message: /it has revision 0.*needs 1/ })
      await store.migrate()
      const outbox = await start()
      await outbox.close()
    }
  })

  it('a worker of mails takes the same option', async (t) => {
    const { store } = await newFile(t)
    const outbox = new MailOutbox({ store })
    const transports = {
      default: { name: 'none', send: async () => ({ accepted: [], rejected: [] }) as never },
    }
    const worker = new MailOutboxWorker({ outbox, transports, migrate: false, logger: false })
    await rejects(worker.start(), { code: 'OUTBOX_SCHEMA_NOT_READY' })
    await outbox.initSchema()
    await worker.start()
    await worker.close()
  })
})

async function newFile(t: TestContext) {
  const file = path.join(await temporaryFolder(t), 'app.db')
  const database = new DatabaseSync(file)
  t.after(() => database.close())
  const store = sqliteStore({ open: () => new DatabaseSync(file) })
  t.after(() => store.close())
  const tables = () =>
    database
      .prepare(
        `select name from sqlite_schema where type = 'table' and name not like 'sqlite%' order by name`,
      )
      .all()
      .map(({ name }) => String(name))
  return { store, database, tables }
}
