import type pg from 'pg'

/** Rows that nobody can take, at full size. */
export type StandingRows = Readonly<Partial<Record<keyof typeof kinds, number>>>

/** Told apart by their type from the events that are delivered. */
export const standingType = 'Standing'

/** Adds rows straight to the table, a share of each number of them. */
export async function addStandingRows(client: pg.Client, rows: StandingRows, scale: number): Promise<void> {
  for (const [kind, count] of Object.entries(rows) as [keyof typeof kinds, number][]) {
    await client.query(insertSql(kind), [Math.ceil(count * scale)])
  }
}

// What differs: the first two characters of the id, then columns.
const kinds = {
  /** Delivered long ago, and kept. */
  done: {
    prefix: '0D',
    columns: 'status, deliveries, available_at, done_at',
    values: `1, 2, clock_timestamp() - interval '2 days', clock_timestamp() - interval '2 days'`,
  },
  /** Written with a delay of a day. */
  delayed: {
    prefix: '0E',
    columns: 'status, available_at',
    values: `0, clock_timestamp() + interval '1 day'`,
  },
  /** Failed, and due again in an hour. */
  backoff: {
    prefix: '0F',
    columns: 'status, attempts, deliveries, available_at',
    values: `2, 3, 6, clock_timestamp() + interval '1 hour'`,
  },
  /** In the queues of ten other processes, and due before everything else. */
  leased: {
    prefix: '0G',
    columns: 'status, deliveries, available_at, locked_by, locked_until',
    values: `0, 1, clock_timestamp() - interval '1 day', 'node-' || i % 10, clock_timestamp() + interval '1 hour'`,
  },
} as const

// $1 how many.
function insertSql(kind: keyof typeof kinds): string {
  const { prefix, columns, values } = kinds[kind]
  return `
  insert into outbox_event (
         event_id, destination, event_type, aggregate_type, aggregate_id, ordering_key, partition_no,
         payload, occurred_at, created_at, ${columns})
  select '${prefix}' || lpad(i::text, 24, '0'), '', '${standingType}', 'Order', 'ord_' || i, 'Order:ord_' || i, i & 255,
         json_build_object('i', i, 'note', repeat('.', 180)),
         clock_timestamp() - interval '2 days', clock_timestamp() - interval '2 days', ${values}
    from generate_series(1, $1::integer) as i`
}
