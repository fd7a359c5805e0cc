import pg from 'pg'
import { payloadOf } from '../../bench-event.ts'
import type { OnEvent, RunningWorker, Subject } from '../../store-bench.ts'
import { drainSubject, sendoffBacklog } from '../../suites/drain.ts'
import { postgresDatabases } from './postgres-database.ts'
import { databaseUrl } from './postgres-server.ts'

const batchSize = 500

/**
 * Drains written by hand on the same table: batches of 500, a listener called for each row, the next batch
 * taken on a second connection while the last one is settled, and nothing else. No retries, no fences, no
 * queues, no time limits, and nobody looks for rows that were committed late.
 */
export const limitDrains: readonly Subject[] = [
  limitDrain('limit-claim-update', { take: 'claim', settle: 'update' }),
  limitDrain('limit-claim-delete', { take: 'claim', settle: 'delete' }),
  limitDrain('limit-owner-update', { take: 'read', settle: 'update' }),
]

interface LimitDrain {
  /** Whether rows are leased before they are handled; an owner needs no leases, and remembers where it is. */
  readonly take: 'claim' | 'read'
  /** Whether handled rows are kept as DONE or removed. */
  readonly settle: 'update' | 'delete'
}

function limitDrain(name: string, drain: LimitDrain): Subject {
  return drainSubject({
    name,
    backlog: sendoffBacklog(postgresDatabases),
    ...(drain.take === 'read' && { singleProcess: true }),
    async worker(database, conditions, onEvent) {
      const url = databaseUrl(database, conditions)
      const [taker, settler] = [0, 1].map(() => new pg.Client({ connectionString: url })) as [
        pg.Client,
        pg.Client,
      ]
      await Promise.all([taker.connect(), settler.connect()])
      return emptyTable(taker, settler, drain, onEvent)
    },
  })
}

type TakenRow = [eventId: string, seq: string, availableAt: string, ...rest: unknown[]]

/** Runs until nothing is left. */
function emptyTable(
  taker: pg.Client,
  settler: pg.Client,
  drain: LimitDrain,
  onEvent: OnEvent,
): RunningWorker {
  // Where the last batch ended: what lies before it is leased or settled, and not looked at again.
  let [lastAt, lastSeq] = ['-infinity', '0']
  const take = async (): Promise<readonly TakenRow[]> => {
    const values = [batchSize, lastAt, lastSeq]
    const { rows } = await taker.query<TakenRow>({
      name: 'take',
      text: takeSql[drain.take],
      values,
      rowMode: 'array',
    })
    for (const [, seq, availableAt] of rows) {
      // Claimed rows come in no order. These events fall due as they were written.
      if (Number(seq) > Number(lastSeq)) [lastAt, lastSeq] = [availableAt, seq]
    }
    return rows
  }
  const settle = (rows: readonly TakenRow[]) =>
    settler.query({ name: 'settle', text: settleSql[drain.settle], values: [rows.map(([id]) => id)] })
  const listener: (row: unknown) => Promise<void> = async () => onEvent(unread)

  const run = async (): Promise<void> => {
    let next = take()
    let settling: Promise<unknown> | undefined
    for (let rows = await next; rows.length > 0; rows = await next) {
      next = take()
      for (const row of rows) await listener(row)
      await settling
      settling = settle(rows)
    }
    await settling
  }
  const settled = run()
  return {
    settled: () => settled,
    async stop() {
      await settled
      await Promise.all([taker.end(), settler.end()])
    },
  }
}

// Nobody looks at the payloads of a drain.
const unread = { payload: payloadOf(0) }

const columns =
  'event_id, seq, available_at::text, event_type, aggregate_id, payload::text, deliveries, attempts'

const takeSql = {
  // $1 limit, $2 due time and $3 seq of the last row. By outbox_event_due, in its order, then by the place
  // in the table: a join by key would be planned for a share of the table instead of for a batch. The clock is
  // read in a subquery, because an index cannot be searched with a function that may answer differently for
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
