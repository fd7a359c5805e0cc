import mysql from 'mysql2/promise'
import { OrderPlaced, orderIdOf, payloadOf } from '../../bench-event.ts'
import type { Subject } from '../../store-bench.ts'
import { concurrentWriters, eventsPerBulkWrite, measureWrites } from '../../suites/write.ts'
import { mysqlDatabases } from './mysql-database.ts'
import { databaseUrl, serverCpuUs } from './mysql-server.ts'
import { insertOrder, inTransaction } from './orders.ts'

/** An order and its event, written by hand: prepared statements, rising ids, no checks. */
export const limitInsert: Subject = {
  name: 'limit-insert',

  measure: (conditions) =>
    measureWrites(conditions, { concurrent: true, serverCpuUs }, async (name, within) => {
      const database = await mysqlDatabases.create(name, within)
      await database.close()
      const pool = mysql.createPool({ uri: databaseUrl(name, within), connectionLimit: concurrentWriters })

      return {
        single: (number) =>
          inTransaction(pool, async (connection) => {
            await insertOrder(connection, number)
            await connection.execute(insertSql(1), valuesOf(number))
          }),
        bulk: (first) =>
          inTransaction(pool, async (connection) => {
            await insertOrder(connection, first)
            const numbers = Array.from({ length: eventsPerBulkWrite }, (_, index) => first + index)
            await connection.query(insertSql(eventsPerBulkWrite), numbers.flatMap(valuesOf))
          }),
        close: () => pool.end(),
      }
    }),
}

// In the order of the columns below.
function valuesOf(number: number): (string | number)[] {
  const orderId = orderIdOf(number)
  return [
    `01JBENCH${String(number).padStart(18, '0')}`,
    OrderPlaced.name,
    OrderPlaced.aggregateType,
    orderId,
    `${OrderPlaced.aggregateType}:${orderId}`,
    number & 255,
    JSON.stringify(payloadOf(number)),
    new Date().toISOString().slice(0, -1),
  ]
}

// By valuesOf for each row. Columns with a default are left out.
function insertSql(rows: number): string {
  const row = `('', ?, ?, ?, ?, ?, ?, ?, ?, utc_timestamp(3), utc_timestamp(3))`
  return `
  insert into outbox_event (
         destination, event_id, event_type, aggregate_type, aggregate_id, ordering_key, partition_no, payload,
         occurred_at, available_at, created_at)
  values ${Array.from({ length: rows }, () => row).join()}`
}
