import { OrderPlaced, orderIdOf, payloadOf } from '../../bench-event.ts'
import type { Subject } from '../../store-bench.ts'
import { eventsPerBulkWrite, measureWrites } from '../../suites/write.ts'
import { insertOrderSql, openHandle, sqliteDatabases } from './sqlite-database.ts'

// The columns that the store's own insert fills for the same events, in the same table.
const insertEventSql = `
  insert into outbox_event (
         event_id, destination, event_type, aggregate_type, aggregate_id, ordering_key, partition_no,
         payload, occurred_at, available_at, created_at)
  values (?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** An order and its event, written by hand: statements prepared once, rising ids, no checks. */
export const limitInsert: Subject = {
  name: 'limit-insert',

  measure: (conditions) =>
    measureWrites(conditions, {}, async (name, within) => {
      await sqliteDatabases().create(name, within)
      const handle = openHandle(name, within)
      const begin = handle.prepare('begin immediate')
      const commit = handle.prepare('commit')
      const insertOrder = handle.prepare(insertOrderSql)
      const insertEvent = handle.prepare(insertEventSql)

      const addOrder = (number: number) => insertOrder.run(orderIdOf(number), 'cus_8f2b1c9e7d', 129.95)
      const addEvent = (number: number) => {
        const now = Date.now()
        const orderId = orderIdOf(number)
        insertEvent.run(
          `01JBENCH${String(number).padStart(18, '0')}`,
          OrderPlaced.name,
          OrderPlaced.aggregateType,
          orderId,
          `${OrderPlaced.aggregateType}:${orderId}`,
          number & 255,
          JSON.stringify(payloadOf(number)),
          now,
          now,
          now,
        )
      }

      return {
        single(number) {
          begin.run()
          addOrder(number)
          addEvent(number)
          commit.run()
        },
        bulk(first) {
          begin.run()
          addOrder(first)
          for (let index = 0; index < eventsPerBulkWrite; index++) addEvent(first + index)
          commit.run()
        },
        close: () => handle.close(),
      }
    }),
}
