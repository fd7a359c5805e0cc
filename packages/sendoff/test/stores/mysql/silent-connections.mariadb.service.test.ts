import { after, before, describe } from 'node:test'
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
})
