import pg from 'pg'
import { orderIdOf } from '../../bench-event.ts'
import { benchConsumer, type InboxTables } from '../../suites/inbox.ts'
import { concurrentWriters, measureWrites } from '../../suites/write.ts'
import { insertOrder, inTransaction } from './orders.ts'
import { postgresDatabases } from './postgres-database.ts'
import { databaseUrl, serverCpuUs, withClient } from './postgres-server.ts'

const markSql = `
  insert into outbox_event_inbox (consumer, message_id, received_at)
  values ($1, $2, clock_timestamp())
      on conflict do nothing`

/** The tables of the suite of the inbox. */
export const postgresInboxTables: InboxTables = {
  limit: {
    name: 'limit-inbox',
    measure: (conditions) =>
      measureWrites(conditions, { concurrent: true, serverCpuUs }, async (name, within) => {
        const database = await postgresDatabases.create(name, within)
        await database.close()
        const pool = new pg.Pool({ connectionString: databaseUrl(name, within), max: concurrentWriters })

        return {
          single: (number) =>
            inTransaction(pool, async (client) => {
              const values = [benchConsumer, orderIdOf(number)]
              const { rowCount } = await client.query({ name: 'mark', text: markSql, values })
              if (rowCount === 1) await insertOrder(client, number)
            }),
          close: () => pool.end(),
        }
      }),
  },

  marks: 5_000_000,
  addMarks: (database, marks, hours, conditions) =>
    withClient(databaseUrl(database, conditions), async (client) => {
      await client.query(
        `insert into outbox_event_inbox
         select $1, '${hours}-' || lpad(i::text, 12, '0'), clock_timestamp() - interval '${hours} hours'
           from generate_series(1, ${marks}) as i`,
        [benchConsumer],
      )
    }),
}
