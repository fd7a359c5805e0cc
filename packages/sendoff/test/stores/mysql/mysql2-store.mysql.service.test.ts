import { after } from 'node:test'
import mysql from 'mysql2/promise'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

const database = `checks_of_mysql2_${process.pid}`
const pool = mysql.createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 20 })
await pool.query(`create database ${database}`)

runServerStoreChecks('mysql store on mysql2 and MySQL', {
  openStore: (table) => mysqlStore({ client: pool, database, table }),
  run: (sql) => pool.query(sql),
})

after(async () => {
  await pool.query(`drop database ${database}`)
  await pool.end()
})
