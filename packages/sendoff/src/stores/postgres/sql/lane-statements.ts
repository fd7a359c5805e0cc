import type { PostgresTables } from '../schema/postgres-tables.ts'
import { inMs, rowColumns } from './row-columns.ts'
import {
  dueFrom,
  isHeldUp,
  isReady,
  isStillToCome,
  noneOf,
  now,
  pending,
  pendingOf,
  pendingOfLane,
  rows,
  timeIn,
  unblockedOf,
  unleased,
} from './row-conditions.ts'

/** The statements that read rows in their order for the owner of a lock, for checked names. */
export function laneStatementsFor(tables: PostgresTables) {
  const { events, lock } = tables
  const isOwner = 'name = $1 and token = $2 and until > clock_timestamp()'
  const held = `
    select 1 from ${lock} where ${isOwner}`

  // Null for a row that is ready, as most are. We subtract numbers: subtracting times fails if one is
  // infinite.
  const waitMs = (heldUp: string) => `
         case when ${heldUp} then 'Infinity'
              when ${isReady} then null
              else ceil((date_part('epoch', greatest(available_at, locked_until)) - date_part('epoch', ${now})) * 1000) end`
  // The kind of the controls that park keys of the destination $12.
  const parkedHere = `(select 'park' || coalesce('/' || nullif($12::text, ''), ''))`
  const heldUpHere = isHeldUp(tables, parkedHere)
  const isForOther = 'destination <> (select $12::text)'
  const anyDestination = { due: undefined, lane: pendingOf('lane.key'), except: [isForOther] }
  const oneDestination = {
    due: unblockedOf('(select $12::text)'),
    lane: pendingOfLane('lane.key', '(select $12::text)'),
    except: [],
  }
  const noRow = `(select ${rowColumns('event')} from ${events} as event where false) as nothing`

  return {
    readLanes: readLanes(held, anyDestination),
    readLanesRenewing: readLanes(renewed('$13'), anyDestination),
    readLanesOf: readLanes(held, oneDestination),
    readLanesRenewingOf: readLanes(renewed('$13'), oneDestination),
    readAll: readAll(held),
    readAllRenewing: readAll(renewed('$5')),
  } as const

  function renewed(ms: string): string {
    return `
    update ${lock} set until = ${timeIn(ms)} where ${isOwner} returning 1`
  }

  // $1 lock, $2 token, $3 wanted partitions as 256 bytes of 0 or 1 in hex, $4 keys to read, $5 keys and ids
  // not to find, $6 and $7 place to start from, $8 window, $9 limit, $10 rows of a key, $11 1 to skip rows
  // that have to wait, $12 destination or null for any, $13 time limit to renew the lock with, if it is
  // renewed.
  //
  // Returns nothing without the lock. Otherwise one row with the place to continue from, or nulls, and one
  // for each row that was read, with its wait.
  //
  // The window reads <table>_due in its order: no sort, no DONE row touched. It ends as soon as enough is
  // found. Rows come out of a CTE in the order in which they went in. NOT IN uses a hash table. Each lane
  // reads <table>_key from its first row on, and stops at the last one wanted. A row without a key is read by
  // primary key, in a subquery with a limit, which leaves PostgreSQL no other way.
  //
  // With the indexes by destination, the window reads <table>_destination, and each lane <table>_lane.
  //
  // Parameters are in subqueries. Otherwise a plan made for their values would always seem cheaper, and
  // PostgreSQL would plan the statement each time. Planning takes as long as reading 500 rows.
  function readLanes(owner: string, { due, lane, except }: LaneRows): string {
    return `
  with owner as materialized (${owner}
  ), looked as materialized (
    select available_at, seq, ordering_key, partition_no, event_id, destination
      from ${events}
     where exists (select from owner)
       and ${dueFrom('(select $6::float8)', '(select $7::bigint)', due)}
       and ${unleased}
     order by available_at, seq
     limit ${rows('$8')}
  ), found as materialized (
    select *
      from looked
     where get_byte((select decode($3, 'hex')), coalesce(partition_no, seq % 256)::integer) = 1
       and coalesce(ordering_key, event_id) not in (select unnest((select $5::text[])))
       and destination = coalesce((select $12::text), destination)
     limit ${rows('$9')}
  ), next as materialized (
    (select available_at, seq from found offset (select greatest(0, $9::integer - 1)) limit 1)
     union all
    (select available_at, seq from looked offset (select greatest(0, $8::integer - 1)) limit 1)
     limit 1
  ), lane as materialized (
    select ordering_key as key from found where ordering_key is not null
     union
    select unnest((select $4::text[])) from owner
  )
  select ${inMs('next.available_at')}, next.seq, null::float8, nothing.*
    from owner
    left join next on true
    left join ${noRow} on true
   union all
  select null, null, ordered.*
    from lane
   cross join lateral (
    select ${waitMs(heldUpHere)}, ${rowColumns('event')}
      from ${events} as event
     where ${lane}
       and ${noneOf([isStillToCome, ...except, `(select $11::integer) = 1 and (not ${isReady} or ${heldUpHere})`])}
     order by seq
     limit ${rows('$10')}) as ordered
   union all
  select null, null, null, alone.*
    from found
   cross join lateral (
    select ${rowColumns('event')}
      from ${events} as event
     where event.event_id = found.event_id
       and event.destination = found.destination
       and ${noneOf([heldUpHere])}
     limit 1) as alone
   where found.ordering_key is null`
  }

  // $1 lock, $2 token, $3 number to start behind, $4 limit, $5 time limit to renew the lock with, if it is
  // renewed. Reads <table>_written in its order. Returns nothing without the lock. Otherwise a row of nulls
  // and one for each row that was read, with its wait.
  function readAll(owner: string): string {
    return `
  with owner as materialized (${owner}
  )
  select null::float8, nothing.*
    from owner
    left join ${noRow} on true
   union all
  (select ${waitMs(isHeldUp(tables))}, ${rowColumns('event')}
     from ${events} as event
    where exists (select from owner)
      and ${pending}
      and seq > (select $3::bigint)
      and ${noneOf([isStillToCome])}
    order by seq
    limit ${rows('$4')})`
  }
}

/** How a read of lanes finds due rows and the rows of a key, and which rows it leaves out. */
interface LaneRows {
  readonly due: string | undefined
  readonly lane: string
  readonly except: readonly string[]
}
