import mysql from 'mysql2/promise'
import { orderIdOf } from '../../bench-event.ts'
import { benchConsumer, type InboxTables } from '../../suites/inbox.ts'
import { concurrentWriters, measureWrites } from '../../suites/write.ts'
import { mysqlDatabases } from './mysql-database.ts'
import { databaseUrl, serverCpuUs, withConnection } from './mysql-server.ts'
import { insertOrder, inTransaction } from './orders.ts'

const markSql = `
  insert ignore into outbox_event_inbox (consumer, message_id, received_at)
  values (?, ?, utc_timestamp(3))`

/** The tables of the suite of the inbox. */
export const mysqlInboxTables: InboxTables = {
  limit: {
    name: 'limit-inbox',
    measure: (conditions) =>
      measureWrites(conditions, { concurrent: true, serverCpuUs }, async (name, within) => {
        const database = await mysqlDatabases.create(name, within)
        await database.close()
        const pool = mysql.createPool({ uri: databaseUrl(name, within), connectionLimit: concurrentWriters })

        return {
          single: (number) =>
            inTransaction(pool, async (connection) => {
              const values = [benchConsumer, orderIdOf(number)]
              const [{ affectedRows }] = await connection.execute<mysql.ResultSetHeader>(markSql, values)
              if (affectedRows === 1) await insertOrder(connection, number)
            }),
          close: () => pool.end(),
        }
      }),
  },

  marks: 1_000_000,
  addMarks: (database, marks, hours, conditions) =>
    withConnection(databaseUrl(database, conditions), async (connection) => {
      for (let first = 0; first < marks; first += rowsPerStatement) {
        const count = Math.min(rowsPerStatement, marks - first)
        await connection.query(
          `insert into outbox_event_inbox
           select ?, uuid(), utc_timestamp(3) - interval ${hours} hour
             from (with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ${count})
                   select i from numbers) as numbers`,
          [benchConsumer],
        )
      }
    }),
}

// MySQL ends a recursion after a thousand rows by default.
const rowsPerStatement = 1_000
