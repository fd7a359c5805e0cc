import pg from 'pg'
import { OrderPlaced, orderIdOf, payloadOf } from '../../bench-event.ts'
import type { Subject } from '../../store-bench.ts'
import { concurrentWriters, eventsPerBulkWrite, measureWrites } from '../../suites/write.ts'
import { insertOrder, inTransaction } from './orders.ts'
import { postgresDatabases } from './postgres-database.ts'
import { databaseUrl, serverCpuUs } from './postgres-server.ts'

/** An order and its event, written by hand: prepared statements, rising ids, no checks. */
export const limitInsert: Subject = {
  name: 'limit-insert',

  measure: (conditions) =>
    measureWrites(conditions, { concurrent: true, serverCpuUs }, async (name, within) => {
      const database = await postgresDatabases.create(name, within)
      await database.close()
      const url = databaseUrl(name, within)
      const pool = new pg.Pool({ connectionString: url, max: concurrentWriters })

      return {
        single: (number) =>
          inTransaction(pool, async (client) => {
            await insertOrder(client, number)
            await client.query({ name: 'insert-event', text: insertSql, values: valuesOf(number) })
          }),
        bulk: (first) =>
          inTransaction(pool, async (client) => {
            await insertOrder(client, first)
            await client.query({ name: 'insert-events', text: insertAllSql, values: arraysFrom(first) })
          }),
        close: () => pool.end(),
      }
    }),
}

// $1 event type, $2 aggregate type, $3 id, $4 aggregate, $5 ordering key, $6 partition, $7 payload, $8 time.
function valuesOf(number: number): string[] {
  const orderId = orderIdOf(number)
  return [
    ...types,
    `01JBENCH${String(number).padStart(18, '0')}`,
    orderId,
    `${OrderPlaced.aggregateType}:${orderId}`,
    String(number & 255),
    JSON.stringify(payloadOf(number)),
    new Date().toISOString(),
  ]
}

// The same, with arrays as literals from $3 on.
function arraysFrom(first: number): string[] {
  const rows = Array.from({ length: eventsPerBulkWrite }, (_, index) => valuesOf(first + index))
  const arrayOf = (column: number) => `{${rows.map((row) => element(row[column]!)).join(',')}}`
  return [...types, ...rows[0]!.map((_, column) => arrayOf(column)).slice(types.length)]
}

// Only payloads contain characters that must be quoted.
function element(text: string): string {
  return text.startsWith('{') ? `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : text
}

const types = [OrderPlaced.name, OrderPlaced.aggregateType] as const

const insertInto = `
  insert into outbox_event (
         destination, event_type, aggregate_type, event_id, aggregate_id, ordering_key, partition_no, payload,
         occurred_at, available_at, created_at)`

// By valuesOf. Columns with a default are left out.
const insertSql = `${insertInto}
  values ('', $1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp(), clock_timestamp())`

// By arraysFrom. A thousand rows take 23 µs each of server and client together; with one array of JSON arrays
// it is 25, with json_to_recordset 29, and with a list of VALUES 28.
const insertAllSql = `${insertInto}
  select '', $1, $2, event.*, clock_timestamp(), clock_timestamp()
    from unnest($3::text[], $4::text[], $5::text[], $6::smallint[], $7::json[], $8::timestamptz[]) as event`
