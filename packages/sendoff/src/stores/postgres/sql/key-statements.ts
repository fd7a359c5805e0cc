import { maxCountedWaiting } from '../../../store/index.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'
import { allKeysLock, keyLock, partitionLock } from './advisory-locks.ts'
import { storedColumns } from './row-columns.ts'
import { isStillToCome, noneOf, now, pendingOf, rows, timeIn } from './row-conditions.ts'

const wholeNow = timeIn('0')

/** The statements about ordering keys, for checked names. */
export function keyStatementsFor(tables: PostgresTables) {
  const { events, attempt, control } = tables

  return {
    // $1 keys, $2 their partitions. Takes all locks of a kind in the order of their numbers, and those on
    // partitions first. So two writers that want the same keys never wait in a circle. An aggregate takes
    // each lock and returns a single row.
    lockKeys: `
  select count(case when is_key then pg_advisory_xact_lock(id)::text
                    else pg_advisory_xact_lock_shared(id)::text end)
    from (select false as is_key, ${partitionLock(tables, 'number')} as id from unnest($2::integer[]) as number
           union
          select true, ${keyLock(tables, 'key')} from unnest($1::text[]) as key
           order by is_key, id
          offset 0) as wanted`,

    // $1 partitions. Takes the locks in the same order. Waits for writers that have locked a key of these
    // partitions, and such writers wait for it.
    lockPartitions: `
  select count(pg_advisory_xact_lock(id)::text)
    from (select distinct ${partitionLock(tables, 'number')} as id from unnest($1::integer[]) as number
           order by id
          offset 0) as wanted`,

    // No parameters.
    lockAllKeys: `select pg_advisory_xact_lock(${allKeysLock(tables)})::text`,

    // $1 name to start behind, $2 limit, $3 destination, $4 kind of the controls that park its keys. Goes
    // through <table>_key from key to key, without reading the rows between the first ones. Ends as soon as
    // enough are found. Parked keys by primary key.
    blockedKeys: `
  with recursive named as (
    (select ordering_key as key
       from ${events}
      where status & 1 = 0 and ordering_key > $1
      order by ordering_key
      limit 1)
     union all
    select (select ordering_key
              from ${events}
             where status & 1 = 0 and ordering_key > named.key
             order by ordering_key
             limit 1)
      from named
     where key is not null
  ), stopped as materialized (
    select key
      from named
     cross join lateral (${headOf('named.key', '$3', 'status, blocked_at')}) as head
     where status = 2 or blocked_at is not null
     limit ${rows('$2')}
  ), parked as materialized (
    select name as key from ${control} where kind = $4 and name > $1 order by name limit ${rows('$2')}
  ), listed as materialized (
    select key from stopped union select key from parked order by key limit ${rows('$2')}
  )
  select key, key in (select key from parked), (
           select count(*)
             from (select 1
                     from ${events} as event
                    where ${pendingOf('listed.key')} and ${noneOf([isStillToCome, isForOther('$3')])}
                    order by seq
                    limit ${rows(`${maxCountedWaiting + 1}`)}) as counted), head.*
    from listed
    left join lateral (${headOf('listed.key', '$3', storedColumns('event'))}) as head on true
   order by key`,

    // $1 key, $2 destination. By <table>_key. Returns the row; nothing if there is nothing to do.
    retryKey: `
  with head as materialized (${headOf('$1', '$2', 'event_id, destination, available_at, blocked_at, locked_until')}
       for no key update
  )
  update ${events} as event
     set blocked_at = null, available_at = ${wholeNow}, deliveries = event.deliveries + 1
    from head
   where event.event_id = head.event_id
     and event.destination = head.destination
     and (head.blocked_at is not null or head.available_at > ${now})
     and (head.locked_until is null or head.locked_until <= ${now})
  returning event.event_id, event.destination`,

    // $1 key, $2 destination, $3 reason. By <table>_key. Returns the row; nothing if none is pending.
    skipKey: `
  with head as materialized (${headOf('$1', '$2', 'event_id, destination, attempts, locked_by')}
       for no key update
  ), skipped as (
    update ${events} as event
       set status = 3, done_at = ${wholeNow}, blocked_at = null, last_error = $3, deliveries = event.deliveries + 1,
           losses = 0, locked_by = null, locked_until = null
      from head
     where event.event_id = head.event_id and event.destination = head.destination
  )
  insert into ${attempt} (event_id, destination, attempts, failed_at, error, locked_by)
  select event_id, destination, attempts, ${wholeNow}, $3, locked_by
    from head
  returning event_id, destination`,
  } as const

  function headOf(key: string, destination: string, columns: string): string {
    return `
    select ${columns}
      from ${events} as event
     where ${pendingOf(key)} and ${noneOf([isStillToCome, isForOther(destination)])}
     order by seq
     limit 1`
  }
}

function isForOther(destination: string): string {
  return `event.destination <> ${destination}::text`
}
