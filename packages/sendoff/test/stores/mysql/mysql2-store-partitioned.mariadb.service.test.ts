import { after } from 'node:test'
import mysql from 'mysql2/promise'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

const database = `checks_of_partitioned_${process.pid}`
const pool = mysql.createPool({ uri: process.env['MARIADB_URL']!, connectionLimit: 20 })
await pool.query(`create database ${database}`)

runServerStoreChecks('mysql store on mysql2 and a partitioned table of MariaDB', {
  openStore: (table) => {
    const store = mysqlStore({ client: pool, database, table, partitionBy: 'day' })
    return { ...store, migrate: () => store.migrate().then(() => divide(table)) }
  },
  run: (sql) => pool.query(sql),
})

after(async () => {
  await pool.query(`drop database ${database}`)
  await pool.end()
})

// The ids of the checks begin with no time. Further partitions divide them.
async function divide(table: string): Promise<void> {
  const parts = Array.from(
    { length: 19 },
    (_, index) => `partition d${index} values less than ('event-${990_500 + index * 500}')`,
  )
  const all = [...parts, 'partition rest values less than (maxvalue)']
  await pool
    .query(`alter table ${database}.${table} reorganize partition rest into (${all.join()})`)
    .catch((error: { errno?: number }) => {
      // 1517: it is divided already.
      if (error.errno !== 1517) throw error
    })
}
