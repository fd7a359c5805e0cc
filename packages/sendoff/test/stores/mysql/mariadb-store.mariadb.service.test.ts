import { after } from 'node:test'
import mariadb from 'mariadb'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

const database = `checks_of_mariadb_${process.pid}`
const { hostname, port, username, password } = new URL(process.env['MARIADB_URL']!)
const pool = mariadb.createPool({
  host: hostname,
  port: Number(port || 3306),
  user: decodeURIComponent(username),
  password: decodeURIComponent(password),
  connectionLimit: 20,
})
await pool.query(`create database ${database}`)

runServerStoreChecks('mysql store on mariadb and MariaDB', {
  openStore: (table) => mysqlStore({ client: pool, database, table }),
  run: (sql) => pool.query(sql),
})

after(async () => {
  await pool.query(`drop database ${database}`)
  await pool.end()
})
