import mysql from 'mysql2/promise'
import { mariadb } from '../../services/servers/mariadb/mariadb.ts'
import { describeServerSite } from './describe-server-site.ts'
import { mariadbSite } from './mariadb-site.ts'
import { accessFrom } from './server-access.ts'

describeServerSite({
  name: 'MariaDB',
  // If the address of a server is given, this machine may have none that the test can harm.
  skip: !(await mariadb.find()) && 'MariaDB itself is not on this machine',
  make: mariadbSite,
  restarts: ['restart', 'crash'],
  heldSnapshots: 'select 1 from information_schema.innodb_trx where trx_mysql_thread_id <> connection_id()',

  async open(location) {
    const connection = await mysql.createConnection(accessFrom(location).url)
    connection.on('error', () => {})
    return {
      run: async (sql) => {
        const [rows] = await connection.query(sql)
        return Array.isArray(rows) ? rows : []
      },
      end: async () => connection.destroy(),
    }
  },
})
