import { after, before, describe, it } from 'node:test'
import type mysql from 'mysql2/promise'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { MysqlDatabase } from '../stores/mysql/mysql-database.ts'
import { testAdmin } from './admin-behaviour.ts'
import { testOnlyLooking } from './only-looking.ts'

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
    const user = `reader_${process.pid}`
    await client.query(`create user ${user} identified by 'secret'`)
    await client.query(`grant select on ${database.name}.* to ${user}`)
    const pool = database.mysql2Pool({ user, password: 'secret' })
    await testOnlyLooking(store, async () => mysqlStore({ client: pool, table: `t${tables}` }))
    await client.query(`drop user ${user}`)
  })
})
