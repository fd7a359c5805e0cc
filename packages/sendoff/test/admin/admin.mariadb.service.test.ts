import { equal, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type mysql from 'mysql2/promise'
import { outboxAdmin } from '../../src/admin/index.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { MysqlDatabase } from '../stores/mysql/mysql-database.ts'
import { kill, testAdmin } from './admin-behaviour.ts'

let database: MysqlDatabase
let client: mysql.Pool
before(async () => {
  database = await MysqlDatabase.create('admin')
  client = database.mysql2Pool()
})
after(() => database.drop())
let tables = 0

async function open() {
  const store = mysqlStore({ client, table: `t${++tables}` })
  await store.migrate()
  return store
}

testAdmin('MariaDB', open)

describe('admin on MariaDB', () => {
  it('looks as a user who may only read, and says so when it should act', async () => {
    const store = await open()
    await kill(store, 2, 'Error: no')
    const user = `reader_${process.pid}`
    await client.query(`create user ${user} identified by 'secret'`)
    await client.query(`grant select on ${database.name}.* to ${user}`)
    const pool = database.mysql2Pool({ user, password: 'secret' })
    const admin = outboxAdmin({ store: mysqlStore({ client: pool, table: `t${tables}` }) }).as('ann')

    equal((await admin.overview()).counts.DEAD.count, 2)
    const { events } = await admin.browse({ status: 'DEAD' })
    equal((await admin.event(events[0]!.eventId))!.attempts.length, 1)
    equal((await admin.failures()).groups.length, 1)
    equal((await admin.keys.blocked()).length, 0)
    equal((await admin.partitions()).participants.length, 0)
    equal((await admin.audit.list()).entries.length, 0)
    const plan = await admin.plan('replay', {}, { all: true })
    const code = { code: 'OUTBOX_READ_ONLY' }
    await rejects(admin.run(plan), code)
    await rejects(admin.pause({ eventType: 'A' }), code)
    await client.query(`drop user ${user}`)
  })
})
