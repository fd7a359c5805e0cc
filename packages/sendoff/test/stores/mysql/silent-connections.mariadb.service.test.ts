import { equal } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import type { StoreWith } from '../../../src/store/index.ts'
import { silentConnectionChecks } from '../../fixtures/silent-connections.ts'
import { MysqlDatabase, serverAddress } from './mysql-database.ts'

describe('mysql store: connections that are dead', () => {
  let database: MysqlDatabase
  let made = 0

  before(async () => {
    database = await MysqlDatabase.create('silent')
  })
  after(() => database.drop())

  const pools = {
    mysql2: (url: string) => mysql.createPool({ ...serverAddress(url), database: database.name }),
    mariadb: (url: string) => mariadb.createPool({ ...serverAddress(url), database: database.name }),
  }
  for (const [name, createPool] of Object.entries(pools)) {
    silentConnectionChecks({
      name,
      serverUrl: () => process.env['MARIADB_URL']!,
      async open(test, url) {
        if (url !== process.env['MARIADB_URL']) made++
        const pool = createPool(url)
        // Some of its connections are dead.
        test.after(() => pool.end().catch(() => {}))
        return mysqlStore({ client: pool as mysql.Pool, table: `events_${made}` }) as StoreWith<any, 'people'>
      },
    })
  }

  it('mysql2: one that the server has ended while it was idle does no harm', async (test) => {
    const pool = mysql.createPool({ ...serverAddress(process.env['MARIADB_URL']!), database: database.name })
    test.after(() => pool.end())
    const ended = Promise.withResolvers<unknown>()
    pool.pool.on('connection', (connection) => {
      connection.query('set session wait_timeout = 1')
      // MySQL says why it ends a connection, and MariaDB only ends it.
      connection.once('error', ended.resolve)
      connection.once('end', ended.resolve)
    })
    const unhandled = test.mock.fn()
    process.on('uncaughtException', unhandled)
    test.after(() => process.off('uncaughtException', unhandled))
    const store = mysqlStore({ client: pool })
    await store.ping!()
    await ended.promise
    store.dropSilent!(0)
    await setImmediate()
    await store.ping!()
    equal(unhandled.mock.callCount(), 0)
  })
})
