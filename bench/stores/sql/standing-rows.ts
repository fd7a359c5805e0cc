/** How many rows of each kind that no worker can claim, at full size. */
export type StandingRows = Readonly<Partial<Record<keyof typeof kinds, number>>>

/** SQL that differs between servers. */
export interface StandingDialect {
  /** Returns SQL for the time of the server's clock, moved by a number of hours. */
  readonly time: (hours: number) => string
  /** A text as a payload. */
  readonly json: (text: string) => string
  /** A table expression called `numbers`, with the numbers from `first` to `last` as `i`. */
  readonly numbers: (first: number, last: number) => string
  /** How many rows one statement may add. */
  readonly rowsPerStatement: number
}

// Their type distinguishes them from the events that are delivered.
const standingType = 'Standing'

/** Adds rows straight to the table: a share of each full number. */
export async function addStandingRows(
  rows: StandingRows,
  scale: number,
  dialect: StandingDialect,
  run: (sql: string) => Promise<unknown>,
): Promise<void> {
  for (const [kind, size] of Object.entries(rows) as [keyof typeof kinds, number][]) {
    const count = Math.ceil(size * scale)
    for (let first = 1; first <= count; first += dialect.rowsPerStatement) {
      const last = Math.min(count, first + dialect.rowsPerStatement - 1)
      await run(insertSql(kind, dialect, first, last))
    }
  }
}

const twoDaysAgo = -48

/** The first two characters of the id, then the columns that differ. */
interface Kind {
  readonly prefix: string
  readonly columns: (time: StandingDialect['time']) => Readonly<Record<string, string>>
}

const kinds = {
  /** Delivered long ago, and kept. */
  done: {
    prefix: '0D',
    columns: (time) => ({
      status: '1',
      deliveries: '2',
      available_at: time(twoDaysAgo),
      done_at: time(twoDaysAgo),
    }),
  },
  /** Written with a delay of a day. */
  delayed: { prefix: '0E', columns: (time) => ({ status: '0', available_at: time(24) }) },
  /** Failed, and due again in an hour. */
  backoff: {
    prefix: '0F',
    columns: (time) => ({ status: '2', attempts: '3', deliveries: '6', available_at: time(1) }),
  },
  /** Held in the queues of ten other processes, and due before everything else. */
  leased: {
    prefix: '0G',
    columns: (time) => ({
      status: '0',
      deliveries: '1',
      available_at: time(-24),
      locked_by: `concat('node-', i % 10)`,
      locked_until: time(1),
    }),
  },
  /** Due since an hour ago. */
  due: { prefix: '0H', columns: (time) => ({ status: '0', available_at: time(-1) }) },
  /** Failed for good, with errors of a few kinds that name their orders. */
  dead: {
    prefix: '0J',
    columns: (time) => ({
      status: '3',
      attempts: '10',
      deliveries: '20',
      available_at: time(twoDaysAgo),
      done_at: time(-1),
      last_error: `concat('TimeoutError', i % 5, ': order ord_', i, ' took ', i % 977, ' ms')`,
    }),
  },
} as const satisfies Record<string, Kind>

// No parameters.
function insertSql(
  kind: keyof typeof kinds,
  { time, json, numbers }: StandingDialect,
  first: number,
  last: number,
): string {
  const { prefix, columns } = kinds[kind]
  const own = columns(time)
  return `
  insert into outbox_event (
         event_id, destination, event_type, aggregate_type, aggregate_id, ordering_key, partition_no,
         payload, occurred_at, created_at, ${Object.keys(own).join()})
  select concat('${prefix}', lpad(concat(i), 24, '0')), '', '${standingType}', 'Order', concat('ord_', i),
         concat('Order:ord_', i), i & 255, ${json(`concat('{"i":', i, ',"note":"', repeat('.', 180), '"}')`)},
         ${time(twoDaysAgo)}, ${time(twoDaysAgo)}, ${Object.values(own).join()}
    from ${numbers(first, last)}`
}
