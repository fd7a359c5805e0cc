import { orderIdOf } from '../../bench-event.ts'
import { benchConsumer, type InboxTables } from '../../suites/inbox.ts'
import { measureWrites } from '../../suites/write.ts'
import { insertOrderSql, openHandle, sqliteDatabases } from './sqlite-database.ts'

const markSql = `
  insert into outbox_event_inbox (consumer, message_id, received_at)
  values (?, ?, ?)
      on conflict do nothing`

/** The tables of the suite of the inbox. */
export const sqliteInboxTables: InboxTables = {
  limit: {
    name: 'limit-inbox',
    measure: (conditions) =>
      measureWrites(conditions, {}, async (name, within) => {
        await sqliteDatabases().create(name, within)
        const handle = openHandle(name, within)
        const begin = handle.prepare('begin immediate')
        const commit = handle.prepare('commit')
        const mark = handle.prepare(markSql)
        const insertOrder = handle.prepare(insertOrderSql)

        return {
          single(number) {
            begin.run()
            const { changes } = mark.run(benchConsumer, orderIdOf(number), Date.now())
            if (Number(changes) === 1) insertOrder.run(orderIdOf(number), 'cus_8f2b1c9e7d', 129.95)
            commit.run()
          },
          close: () => handle.close(),
        }
      }),
  },

  marks: 1_000_000,
  async addMarks(database, marks, hours, conditions) {
    const handle = openHandle(database, conditions)
    handle
      .prepare(
        `insert into outbox_event_inbox
         with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ?)
         select ?, printf('${hours}-%012d', i), ? from numbers`,
      )
      .run(marks, benchConsumer, Date.now() - hours * 3_600_000)
    handle.close()
  },
}
