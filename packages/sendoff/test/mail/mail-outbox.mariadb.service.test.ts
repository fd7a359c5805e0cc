import { after } from 'node:test'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { MysqlDatabase } from '../stores/mysql/mysql-database.ts'
import { describeMailOutbox } from './mail-contract.ts'

const database = await MysqlDatabase.create('mail')
const pool = database.mysql2Pool()

describeMailOutbox('MariaDB', {
  open: (_test, table) => mysqlStore({ client: pool, table }),
  openBeside: async (_test, tables) => tables.map((table) => mysqlStore({ client: pool, table })),
})

after(() => database.drop())
