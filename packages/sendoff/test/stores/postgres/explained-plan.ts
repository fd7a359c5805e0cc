import type pg from 'pg'

/** What PostgreSQL was last told of the table, and what the table then is. Its rows are of so many keys; of none for 0. */
export function moments(table: string, keys = 0): readonly [name: string, sql: string][] {
  const due = `update ${table} set available_at = clock_timestamp() where status = 0`
  return [
    ['new', 'select'],
    ['never analyzed, pending', fillingOf(table, 5_000, 0, keys)],
    ['analyzed as pending', `analyze ${table}`],
    [
      'analyzed as all leased',
      `update ${table} set locked_by = 'a', locked_until = 'infinity'; analyze ${table};
       update ${table} set locked_by = null, locked_until = null`,
    ],
    ['analyzed as delayed', `update ${table} set available_at = 'infinity'; analyze ${table}; ${due}`],
    ['analyzed as pending, then mostly done', `update ${table} set status = 1 where seq % 10 > 0`],
    ['with many done', `${fillingOf(table, 60_000, 1, keys)}; analyze ${table}`],
    [
      'analyzed as all done, then pending again',
      `update ${table} set status = 1; analyze ${table};
       ${fillingOf(table, 5_000, 0, keys)}`,
    ],
  ]
}

let filled = 0

export function fillingOf(table: string, count: number, status: number, keys = 0): string {
  filled += 1
  return `
    insert into ${table} (event_id, destination, event_type, aggregate_type, ordering_key, partition_no, payload,
                          status, done_at, available_at, occurred_at, created_at)
    select '01K' || ${filled} || lpad(i::text, 12, '0'), '', 'OrderPlaced', 'Order',
           'key-' || mod(i, nullif(${keys}, 0)), mod(mod(i, nullif(${keys}, 0)), 256), '{"order":1}', ${status},
           case ${status} when 0 then null else clock_timestamp() end,
           clock_timestamp(), clock_timestamp(), clock_timestamp()
      from generate_series(1, ${count}) as i`
}

/** How PostgreSQL would run a prepared statement. */
export function planOf(
  client: pg.PoolClient,
  sql: string,
  values: readonly (string | null)[],
): Promise<string> {
  return explained(client, 'costs off', sql, values)
}

/** How PostgreSQL has just run a prepared statement, with the rows that each step came across. */
export function runPlanOf(
  client: pg.PoolClient,
  sql: string,
  values: readonly (string | null)[],
): Promise<string> {
  return explained(client, 'analyze, costs off, timing off, summary off', sql, values)
}

/** What PostgreSQL expects a prepared statement to cost. From 100,000 on it compiles it first. */
export async function costOf(
  client: pg.PoolClient,
  sql: string,
  values: readonly (string | null)[],
): Promise<number> {
  const plan = await explained(client, 'summary off', sql, values)
  return Number(/cost=[\d.]+\.\.([\d.]+)/.exec(plan)![1])
}

/** How many pages PostgreSQL reads to run a prepared statement. */
export async function buffersOf(
  client: pg.PoolClient,
  sql: string,
  values: readonly (string | null)[],
): Promise<number> {
  const plan = await explained(client, 'analyze, buffers, costs off, timing off, summary off', sql, values)
  // The first line with buffers is that of the whole statement.
  const [, hit, , read = '0'] = /Buffers: shared hit=(\d+)( read=(\d+))?/.exec(plan)!
  return Number(hit) + Number(read)
}

async function explained(
  client: pg.PoolClient,
  options: string,
  sql: string,
  values: readonly (string | null)[],
): Promise<string> {
  const types = values.map(() => 'unknown').join(', ')
  const literals = values.map((value) => (value === null ? 'null' : client.escapeLiteral(value))).join(', ')
  await client.query(`prepare explained ${types && `(${types})`} as ${sql}`)
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    `explain (${options}) execute explained ${literals && `(${literals})`}`,
  )
  await client.query('deallocate explained')
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}
