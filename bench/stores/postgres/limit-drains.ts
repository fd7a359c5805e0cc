import pg from 'pg'
import type { Subject } from '../../store-bench.ts'
import { limitBatchSize, limitDrainSubjects } from '../../suites/limit-drain.ts'
import { postgresDatabases } from './postgres-database.ts'
import { databaseUrl } from './postgres-server.ts'

type TakenRow = [eventId: string, seq: string, availableAt: string, ...rest: unknown[]]

export const limitDrains: readonly Subject[] = limitDrainSubjects(
  postgresDatabases,
  async (database, conditions, drain) => {
    const url = databaseUrl(database, conditions)
    const [taker, settler] = [
      new pg.Client({ connectionString: url }),
      new pg.Client({ connectionString: url }),
    ]
    await Promise.all([taker.connect(), settler.connect()])
    // The end of the last batch. Rows before it are leased or settled, and not read again.
    let [lastAt, lastSeq] = ['-infinity', '0']

    return {
      async take() {
        const { rows } = await taker.query<TakenRow>({
          name: 'take',
          text: takeSql[drain.take],
          values: [limitBatchSize, lastAt, lastSeq],
          rowMode: 'array',
        })
        for (const [, seq, availableAt] of rows) {
          // Claimed rows come in no order. These events fall due in write order.
          if (Number(seq) > Number(lastSeq)) [lastAt, lastSeq] = [availableAt, seq]
        }
        return rows
      },
      settle: (rows: readonly TakenRow[]) =>
        settler.query({ name: 'settle', text: settleSql[drain.settle], values: [rows.map(([id]) => id)] }),
      end: () => Promise.all([taker.end(), settler.end()]),
    }
  },
)

const columns =
  'event_id, seq, available_at::text, event_type, aggregate_id, payload::text, deliveries, attempts'

const takeSql = {
  // $1 limit, $2 due time and $3 seq of the last row. By outbox_event_due, in its order, then by the place in
  // the table: the planner would plan a join by key for a share of the table instead of a batch. The clock is
  // read in a subquery, because an index cannot be searched with a function that may return another value for
  // each row.
  claim: `
  with due as materialized (
    select ctid
      from outbox_event
     where status in (0, 2)
       and blocked_at is null
       and available_at <= (select clock_timestamp())
       and (locked_by is null or locked_until <= (select clock_timestamp()))
       and (available_at, seq) > ($2::timestamptz, $3::bigint)
     order by available_at, seq
     limit $1
       for update skip locked
  )
  update outbox_event event
     set locked_by = 'limit', locked_until = clock_timestamp() + interval '30 s', deliveries = deliveries + 1
    from due
   where event.ctid = due.ctid
  returning event.${columns.replaceAll(', ', ', event.')}`,

  // As above, without the claim.
  read: `
  select ${columns}
    from outbox_event as event
   where status in (0, 2)
     and blocked_at is null
     and available_at <= (select clock_timestamp())
     and locked_by is null
     and (available_at, seq) > ($2::timestamptz, $3::bigint)
   order by event.available_at, event.seq
   limit $1`,
}

// $1 event ids. By primary key.
const settleSql = {
  update: `
  update outbox_event
     set status = 1, done_at = clock_timestamp(), locked_by = null, locked_until = null
   where event_id = any ($1::text[]) and destination = ''`,
  delete: `delete from outbox_event where event_id = any ($1::text[]) and destination = ''`,
}
