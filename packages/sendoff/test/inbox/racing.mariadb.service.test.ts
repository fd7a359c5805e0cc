import { MysqlDatabase } from '../stores/mysql/mysql-database.ts'
import { describeRacing } from './racing-suite.ts'

let made = 0

describeRacing('mariadb', async (test) => {
  const database = await MysqlDatabase.create(`racing_${++made}`)
  test.after(() => database.drop())
  return database.name
})
