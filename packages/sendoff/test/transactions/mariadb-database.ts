import type { RowDataPacket } from 'mysql2/promise'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { isDuplicate } from '../../src/stores/mysql/mysql-errors.ts'
import { MysqlDatabase } from '../stores/mysql/mysql-database.ts'
import type { TestDatabase } from './test-database.ts'

let databases = 0

/** Creates a database on the server of `MARIADB_URL`. */
export async function mariadbOrders(): Promise<TestDatabase> {
  const database = await MysqlDatabase.create(`orders_${++databases}`)
  const pool = database.mysql2Pool()
  const query = async (sql: string, values: unknown[] = []) =>
    (await pool.query<RowDataPacket[]>(sql, values))[0]
  await query('create table orders (id varchar(100) primary key, total integer not null default 0)')

  return {
    url: database.url,
    query,
    async orders(prefix) {
      const rows = await query('select id from orders where id like ? order by id', [`${prefix}-%`])
      return rows.map((row) => String(row['id']))
    },
    store: (table) => mysqlStore({ client: pool, table }),
    drop: () => database.drop(),

    insertOrder: 'insert into orders (id) values (?)',
    selectOrder: 'select id from orders where id = ?',
    echo: {
      sql: `select cast(? as char) as some_text, ? as \`noText\`, cast(? as char) as number, hex(?) as bytes,
                   json_value(cast(? as char), '$.text') as json`,
      values: (text) => [text, null, 42, Buffer.from([0, 255, 39, 92]), JSON.stringify({ text })],
      row: (text) => ({ some_text: text, noText: null, number: '42', bytes: '00FF275C', json: text }),
    },
    isDuplicate,
    afterFailedStatement: 'goes on',
    async isSerializable(run) {
      const read = `select id from orders where id = 'read'`
      await query('insert ignore into orders (id) values (?)', ['read'])
      await run(read)
      return (await query(`${read} for update skip locked`)).length === 0
    },
  }
}
