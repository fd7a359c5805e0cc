import { createConnection, createPool } from 'mysql2/promise'
import { mysqlStore } from 'sendoff/mysql'
import { outboxAt } from '../tested-outbox.ts'
import { testCommands } from './command-behaviour.ts'

let made = 0

testCommands({
  name: 'MariaDB',
  async newOutbox(test) {
    const name = `cli_${process.pid}_${++made}`
    const url = new URL(process.env['MARIADB_URL']!)
    const connection = await createConnection(url.href)
    await connection.query(`create database ${name}`)
    test.after(async () => {
      await connection.query(`drop database ${name}`)
      await connection.end()
    })
    url.pathname = name
    return outboxAt(url.href, 'shop_outbox')
  },
  async migrateByDay({ url, table }) {
    const client = createPool(url)
    await mysqlStore({ client, table, partitionBy: 'day' }).migrate()
    await client.end()
  },
  hasKeys: true,
  hasSql: true,
})
