import type { PostgresTables } from '../schema/postgres-tables.ts'
import { inMs, storedColumns } from './row-columns.ts'
import { outlivedRow, pending, rows, timeAgo, timeIn } from './row-conditions.ts'

// $1 states, $2 event type, $3 aggregate type, $4 aggregate id, $5 tenant id, $6 destination; null for any.
const matching = `
         status = any ($1::smallint[])
     and ($2::text is null or event_type = $2)
     and ($3::text is null or aggregate_type = $3)
     and ($4::text is null or aggregate_id = $4)
     and ($5::text is null or tenant_id = $5)
     and ($6::text is null or destination = $6)`

/** The statements for operators and schedulers, for checked names. */
export function upkeepStatementsFor(tables: PostgresTables) {
  const { events, meta, attempt, control, idempotency, node } = tables

  // The ids go through arrays, for which PostgreSQL does not expect many values. Otherwise it would read the
  // whole table.
  const oldIds = `
           unnest((select array_agg(event_id) from outlived), (select array_agg(destination) from outlived))
           as old (event_id, destination)`

  return {
    // matching, $7 seq to start behind, $8 limit. The first reads the table: only the primary key includes
    // DONE rows, and it is in another order. The others read <table>_attention and <table>_written in their
    // order.
    query: query(''),
    queryDead: query('status = 3 and'),
    queryPending: query(`${pending} and`),
    // matching, $7 seq to start behind, $8 limit, $9 event ids. By primary key.
    queryEvents: query('event_id = any($9::text[]) and'),

    // matching. By the same.
    count: count(''),
    countDead: count('status = 3 and'),
    countPending: count(`${pending} and`),
    // matching, $7 event id. By primary key.
    countEvent: count('event_id = $7 and'),

    // $1 event id, $2 destination. By <table>_attempt_row.
    attempts: `
  select attempts, ${inMs('failed_at')}, error, locked_by
    from ${attempt}
   where event_id = $1 and destination = $2
   order by id`,

    // $1 and $2 primary key to start behind, $3 limit, $4 to $6 the ages of outlivedRow, $7 age in ms under
    // which a row is young. By primary key, which for most rows is in the order of time. Rows that a
    // transaction has locked are left for the next time. Returns how many rows were examined, the first event
    // id and the last row id, whether all are young, and how many are deleted.
    purge: `
  with seen as materialized (
    select event_id, destination, created_at
      from ${events}
     where (event_id, destination) > ($1, $2)
     order by event_id, destination
     limit ${rows('$3')}
  ), last as materialized (
    select event_id, destination from seen order by event_id desc, destination desc limit 1
  ), outlived as materialized (
    select event_id, destination
      from ${events}
     where (event_id, destination) > ($1, $2)
       and (event_id, destination) <= ((select event_id from last), (select destination from last))
       and ${outlivedRow('$4', '$5', '$6')}
     order by event_id, destination
     limit ${rows('$3')}
       for update skip locked
  ), gone as (
    delete from ${events} as event
     using ${oldIds}
     where event.event_id = old.event_id and event.destination = old.destination
  ), forgotten as (
    delete from ${attempt} as attempt
     using ${oldIds}
     where attempt.event_id = old.event_id and attempt.destination = old.destination
  )
  select (select count(*) from seen), (select min(event_id) from seen), last.event_id, last.destination,
         (select bool_and(created_at >= ${timeAgo('$7')}) from seen), (select count(*) from outlived)
    from last`,

    // $1 age in ms, $2 limit. The oldest by <table>_idempotency_at, then by primary key.
    purgeKeys: `
  with old as materialized (
    select key
      from ${idempotency}
     where created_at < ${timeAgo('$1')}
     order by created_at
     limit ${rows('$2')}
       for update skip locked
  ), gone as (
    delete from ${idempotency} as used using old where used.key = old.key returning 1
  )
  select count(*) from gone`,

    // $1 kind, $2 name. By primary key. A target that is paused already stays as it is.
    pause: `
  insert into ${control} (kind, name, updated_at)
  values ($1, $2, ${timeIn('0')})
  on conflict (kind, name) do nothing`,

    // $1 kind, $2 name. By primary key.
    resume: `delete from ${control} where kind = $1 and name = $2`,

    // No parameters. By primary key.
    paused: `
  select kind, name
    from ${control}
   where kind in ('pauseType', 'pauseDestination')
   order by kind, name`,

    // $1 id, $2 mode, $3 time limit. By primary key. A process that is registered with this mode keeps other
    // modes out. Returns the last mode, the pauses and the routing, or at least one row of nulls. Returns
    // nothing for a process that is not registered.
    keepNode: `
  with kept as (
    update ${node}
       set until = ${timeIn('$3')}
     where id = $1 and mode is not distinct from $2 and until > clock_timestamp()
    returning 1
  )
  select kind, name, value
    from kept
    left join ${control} on kind in ('mode', 'pauseType', 'pauseDestination', 'routing')
   order by kind, name`,

    // No parameters. By primary key. Returns the last mode, the pauses and the routing.
    controls: `
  select kind, name, value
    from ${control}
   where kind in ('mode', 'pauseType', 'pauseDestination', 'routing')
   order by kind, name`,

    // $1 version as a name, $2 content. By primary key. Adds a routing unless one with the same or a higher
    // version is there, and removes lower ones.
    publishRouting: `
  with added as (
    insert into ${control} (kind, name, value, updated_at)
    select 'routing', $1, $2, ${timeIn('0')}
     where not exists (select from ${control} where kind = 'routing' and name >= $1)
        on conflict (kind, name) do nothing
    returning name
  )
  delete from ${control}
   where kind = 'routing' and name < (select name from added)`,

    // $1 revision. By primary key. Shuts out older code. The first release reads only `version`.
    raiseOldestCode: `
  insert into ${meta} as known (key, value) values ('oldest_code', $1), ('version', $1)
      on conflict (key) do update set value = excluded.value
   where known.value::integer < excluded.value::integer`,

    // No parameters. By primary key. Returns the revision of the schema.
    schemaRevision: `select value from ${meta} where key = 'revision'`,

    // No parameters. By primary key.
    routing: `select kind, name, value from ${control} where kind = 'routing'`,

    // No parameters. Until the end of the transaction no other process joins.
    lockNodes: `lock table ${node} in share row exclusive mode`,

    // No parameters. Reads the table, which has a row for each process.
    forgetNodes: `delete from ${node} where until <= clock_timestamp()`,

    // $1 id, $2 mode. Reads the table. Returns living processes with another mode; none if the mode is null.
    nodesOfOtherMode: `select id, mode from ${node} where id <> $1 and mode <> $2 order by id`,

    // $1 id, $2 mode, $3 time limit. By primary key.
    joinNode: `
  insert into ${node} (id, mode, started_at, until)
  values ($1, $2, ${timeIn('0')}, ${timeIn('$3')})
  on conflict (id) do update set mode = excluded.mode, until = excluded.until`,

    // $1 mode. By primary key: the one row of this kind.
    recordMode: `
  with forgotten as (
    delete from ${control} where kind = 'mode' and name <> $1
  )
  insert into ${control} (kind, name, updated_at)
  values ('mode', $1, ${timeIn('0')})
      on conflict (kind, name) do nothing`,

    // $1 id. By primary key.
    leaveNode: `delete from ${node} where id = $1`,

    // $1 channel, $2 text.
    notify: `select pg_notify($1, $2)::text`,
  } as const

  function query(condition: string): string {
    return `
  select ${storedColumns('event')}
    from ${events} as event
   where ${condition} ${matching} and seq > $7::bigint
   order by seq
   limit ${rows('$8')}`
  }

  function count(condition: string): string {
    return `select count(*) from ${events} where ${condition} ${matching}`
  }
}
