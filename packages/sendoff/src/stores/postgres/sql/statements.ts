import { hash } from 'node:crypto'
import { actionStatementsFor } from './action-statements.ts'
import { inboxStatementsFor } from './inbox-statements.ts'
import { insertStatementsFor } from './insert-statements.ts'
import { keyStatementsFor } from './key-statements.ts'
import { laneStatementsFor } from './lane-statements.ts'
import { lockStatementsFor } from './lock-statements.ts'
import { lookStatementsFor } from './look-statements.ts'
import { partitionStatementsFor } from './partition-statements.ts'
import type { Statement } from '../drivers/postgres-driver.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'
import { inMs, rowColumns } from './row-columns.ts'
import { dueFrom, freeRow, noneOf, rows, timeIn, unblockedOf, unsettled } from './row-conditions.ts'
import { reportStatementsFor } from './report-statements.ts'
import { upkeepStatementsFor } from './upkeep-statements.ts'

const wholeNow = timeIn('0')

// $1 event ids, $2 destinations, $3 deliveries, $4 holders (null if an owner read the row without a claim).
// They are in a subquery, so that a plan does not depend on how many there are.
const givenRows = `
    select *
      from unnest((select $1::text[]), (select $2::text[]), (select $3::integer[]), (select $4::text[]))
           with ordinality as given (event_id, destination, deliveries, locked_by, place)`

/** Every statement of the store, for checked names. */
export function statementsFor(tables: PostgresTables) {
  const { events, partitionBy, attempt, lock, partition } = tables

  // Only the owner of the lock may settle rows without a holder, and rows with an epoch only while it owns
  // their partition.
  const isOwned = `(given.locked_by is not null or exists (select from owner)
            and (given.epoch is null or ${epochOf('$3')} = given.epoch))`

  return named({
    // $1 holder, $2 lease, $3 and $4 place to start from, $5 limit, $6 skipRecentMs, $7 destination or null
    // for any. Reads <table>_due in its order: no sort, no DONE row touched. SKIP LOCKED lets many claim at
    // once without waiting for one another. No indexed column changes, so the update can stay in its page and
    // leave the indexes alone.
    //
    // The statement then finds rows by their place in the file, which is a tenth cheaper overall than by
    // primary key. It leaves out a row that another transaction has changed, and so moved, in between. Places
    // mean nothing in time partitions, so the statement checks that the row is in the table itself.
    claim: claim(),

    // As claim, for a destination. Reads <table>_destination in its order, and so no row of others.
    claimOf: claim('', unblockedOf('$7::text')),

    // $1 and $2 place to start from, $3 rows. Returns where a window of this many due rows ends, read from
    // <table>_due in its order. The condition that is always true makes PostgreSQL expect many rows, which it
    // does not sort.
    windowEnd: windowEnd(),

    // As windowEnd. $4 destination. By <table>_destination.
    windowEndOf: windowEnd(unblockedOf('$4::text')),

    // As claim. $8 and $9 place to end at.
    claimWithin: claim(within),

    // As claimWithin. $10 aggregate types and $11 event types, pair by pair: they are hashed once.
    claimTypes: claim(ofTypes),

    // As claimTypes, for a destination. By <table>_destination.
    claimTypesOf: claim(ofTypes, unblockedOf('$7::text')),

    // $1 holder, $2 lease, $3 and $4 place to start from, $5 limit, $6 skipRecentMs, $7 event ids, $8
    // destinations, $9 and $10 their fences and holders, a null fence for any. By primary key. Includes rows
    // that the claimer holds already; they count no loss.
    claimKeys: `
  with due as materialized (
    select event_id, destination
      from unnest((select $7::text[]), (select $8::text[]), (select $9::text[]), (select $10::text[]))
           as given (event_id, destination, fence, holder)
      join ${events} as event using (event_id, destination)
     where ${dueFrom('$3', '$4', `${unsettled} and blocked_at is null`)}
       and (given.fence is null or given.fence::integer = deliveries and given.holder is not distinct from locked_by)
       and ${freeRow(tables, '$6', { exceptHolder: '$1' })}
       and ${costlyToFilter}
     order by available_at, seq
     limit ${rows('$5')}
       for update of event skip locked
  )
  update ${events} as event ${leased('event.locked_by <> $1')}
    from due
   where event.event_id = due.event_id and event.destination = due.destination
  returning ${rowColumns('event')}`,

    // givenRows, $5 lease. By primary key. Returns the places of rows that were not changed, and whether
    // another transaction is changing them now.
    renew: changed(`locked_until = ${timeIn('$5')}`, 'skip locked'),
    // The same for a single row. Waits for it.
    renewOne: changed(`locked_until = ${timeIn('$5')}`),

    // givenRows. By primary key. Returns the same as renew.
    release: changed('locked_by = null, locked_until = null', 'skip locked'),
    releaseOne: changed('locked_by = null, locked_until = null'),

    // alike, $4 holder. By primary key. Waits for rows while it has locked others, in any order. So no other
    // statement may do the same with held rows.
    settleDone: alike('done', 'event.locked_by = $4'),
    settleDelete: alike('delete', 'event.locked_by = $4'),

    // alike, $4 lock, $5 token. For rows that the owner of a lock read without a claim. A takeover waits for
    // the row of the lock, and this statement waits for a takeover. It does not wait for the owner's own
    // renewals.
    settleDoneOwned: alike('done', ownedRow, owner('$4', '$5')),
    settleDeleteOwned: alike('delete', ownedRow, owner('$4', '$5')),

    // alike, $4 lock, $5 token, $6 the epochs of all partitions, -1 for those without a given row, $7 how
    // many have one. For rows that the owner of partitions read. Reads the owners of partitions without a
    // lock. No process takes a partition before the row of the owner's lock is gone, and the removal of that
    // row waits for this statement.
    settleDoneShared: alike('done', sharedRow('$5', '$6', '$7'), owner('$4', '$5')),
    settleDeleteShared: alike('delete', sharedRow('$5', '$6', '$7'), owner('$4', '$5')),

    // $1 settlements as a JSON array of arrays, $2 lock and $3 token of the owner, if any. All kinds at once,
    // with their history. By primary key. Returns the places of those that were refused. Takes a third more
    // of the server's time per row than the statements for rows that are alike.
    settle: `
  with owner as materialized (${owner('$2', '$3')}
  ), given as materialized (
    select (fields ->> 0) as event_id, (fields ->> 1) as destination, (fields ->> 2)::integer as deliveries,
           (fields ->> 3) as locked_by, (fields ->> 4) as kind, (fields ->> 5)::float8 as delay_ms,
           (fields ->> 6) as last_error, (fields ->> 7) as failure, (fields ->> 8)::integer as counted,
           (fields ->> 9)::bigint as epoch, place
      from jsonb_array_elements((select $1::text::jsonb)) with ordinality as settlements (fields, place)
  ), changed as (
    update ${events} as event
       set status       = case given.kind when 'done' then 1 when 'retry' then 2 when 'defer' then 0
                                          when 'dead' then 3 else event.status end,
           available_at = coalesce(date_trunc('milliseconds', clock_timestamp()
                                     + given.delay_ms * interval '1 millisecond'), event.available_at),
           done_at      = case when given.kind in ('done', 'dead') then ${wholeNow} end,
           blocked_at   = case when given.kind = 'block' then ${wholeNow} end,
           last_error   = case given.kind when 'done' then null
                                          when 'defer' then coalesce(given.last_error, event.last_error)
                                          else given.last_error end,
           attempts     = event.attempts + given.counted,
           ${handedBack}
      from given
     where given.kind <> 'delete' and ${held} and ${isOwned}
    returning event.event_id, event.destination, event.attempts, given.failure, given.locked_by, given.place
  ), history as (
    insert into ${attempt} (event_id, destination, attempts, failed_at, error, locked_by)
    select event_id, destination, attempts, ${wholeNow}, failure, locked_by
      from changed
     where failure is not null
     order by place
  ), removed as (
    delete from ${events} as event
     using given
     where given.kind = 'delete' and ${held} and ${isOwned}
    returning event.event_id, event.destination, given.place
  ), forgotten as (
    delete from ${attempt} as attempt
     using removed
     where attempt.event_id = removed.event_id and attempt.destination = removed.destination
  )
  select place
    from given
   where place not in (select place from changed union all select place from removed)`,

    ...actionStatementsFor(tables),
    ...lookStatementsFor(tables),
    ...insertStatementsFor(tables),
    ...inboxStatementsFor(tables),
    ...lockStatementsFor(tables),
    ...partitionStatementsFor(tables),
    ...laneStatementsFor(tables),
    ...keyStatementsFor(tables),
    ...upkeepStatementsFor(tables),
    ...reportStatementsFor(tables),
  } as const)

  function windowEnd(state?: string): string {
    return `
  select ${inMs('available_at')}, seq
    from (select available_at, seq
            from ${events}
           where ${dueFrom('$1', '$2', state)}
             and ${noneOf(['seq is null'])}
           order by available_at, seq
           limit ${rows('$3')}) as due
  offset ${rows('($3::integer - 1)')}`
  }

  function claim(condition = '', state?: string): string {
    return partitionBy
      ? `
  with due as materialized (${dueRows('event_id, destination', condition, state)}
  ), taken as (
    select array_agg(event_id) as ids, array_agg(destination) as destinations from due
  )
  update ${events} as event ${leased('event.locked_by is not null')}
    from taken
   cross join unnest(taken.ids, taken.destinations) as due (event_id, destination)
   where event.event_id = due.event_id and event.destination = due.destination
  returning ${rowColumns('event')}`
      : `
  update ${events} as event ${leased('event.locked_by is not null')}
   where event.tableoid = '${events}'::regclass
     and event.ctid = any (array(${dueRows('ctid', condition, state)}))
     and ${costlyToFilter}
  returning ${rowColumns('event')}`
  }

  function dueRows(columns: string, condition: string, state: string | undefined): string {
    const destination = state === undefined ? { destination: '$7::text' } : {}
    return `
       select ${columns}
         from ${events}
        where ${dueFrom('$3', '$4', state)}
          and ${freeRow(tables, '$6', destination)}${condition}
        order by available_at, seq
        limit ${rows('$5')}
          for update skip locked`
  }

  function owner(name: string, token: string): string {
    return `
    select 1
      from ${lock}
     where name = ${name} and token = ${token} and until > clock_timestamp()
       for key share`
  }

  // The epoch of the row's partition if the token owns it, or one that no row has. An array is made once, and
  // is free to read as long as nothing in it is null.
  function epochOf(token: string): string {
    return `(array(select case when owner = ${token} then epoch else -1 end
                     from ${partition} order by partition_no))[${partitionIndex}]`
  }

  // Mostly the token owns all of them, and no single row has to be checked.
  function sharedRow(token: string, epochs: string, count: string): string {
    return `${ownedRow}
       and case when (select count(*) from ${partition}
                       where owner = ${token} and epoch = (${epochs}::bigint[])[partition_no + 1]) = ${count}::integer
                then true
                else ${epochOf(token)} = (${epochs}::bigint[])[${partitionIndex}] end`
  }

  function changed(columns: string, busyRows = ''): string {
    return `
  with given as materialized (${givenRows}
  ), held as materialized (
    select event.event_id, event.destination, given.place
      from given
      join ${events} as event on ${held}
     where given.locked_by is not null
       for no key update of event ${busyRows}
  ), changed as (
    update ${events} as event
       set ${columns}
      from held
     where event.event_id = held.event_id and event.destination = held.destination
  )
  select place, exists (select from ${events} as event where ${held} and given.locked_by is not null)
    from given
   where place not in (select place from held)`
  }

  // $1 event ids, $2 the destination and $3 the deliveries of all of them. Returns the ids of rows that were
  // refused.
  function alike(kind: 'done' | 'delete', isHeld: string, ownerRow?: string): string {
    const done = `update ${events} as event
       set status = 1, done_at = ${wholeNow}, last_error = null, blocked_at = null, ${handedBack}`
    const forgotten = `, forgotten as (
    delete from ${attempt} where event_id in (select event_id from settled) and destination = $2
  )`

    return `
  with ${ownerRow === undefined ? '' : `owner as materialized (${ownerRow}\n  ), `}settled as (
    ${kind === 'done' ? done : `delete from ${events} as event`}
     where event.event_id = any ($1::text[])
       and event.destination = $2
       and event.deliveries = $3::integer
       and event.${unsettled}
       and ${isHeld}
    returning event.event_id
  )${kind === 'done' ? '' : forgotten}
  select event_id
    from unnest($1::text[]) as given (event_id)
   where (select count(*) from settled) < cardinality($1::text[])
     and event_id not in (select event_id from settled)`
  }
}

const within = `
          and (available_at, seq) <= (to_timestamp($8::float8 / 1000), $9::bigint)`

const ofTypes = `${within}
          and ${noneOf(['(aggregate_type, event_type) not in (select * from unnest($10::text[], $11::text[]))'])}`

// True for each row: the count is never made. But the planner expects one for each row that it filters, and
// therefore fetches the wanted rows by their place or key. Otherwise, a plan made while the table was new
// would read the whole table, and the server would keep that plan until the table is analyzed.
const costlyToFilter = '(event.seq > 0 or (select count(*) from generate_series(1, event.seq)) = 0)'

const held = `event.event_id = given.event_id
       and event.destination = given.destination
       and event.deliveries = given.deliveries
       and event.locked_by is not distinct from given.locked_by
       and event.${unsettled}
       and ${costlyToFilter}`

const partitionIndex = 'coalesce(event.partition_no, event.seq % 256) + 1'

const ownedRow = 'event.locked_by is null and exists (select from owner)'

const handedBack = 'deliveries = event.deliveries + 1, losses = 0, locked_by = null, locked_until = null'

function leased(isLoss: string): string {
  return `
     set losses       = event.losses + case when ${isLoss} then 1 else 0 end,
         locked_by    = $1,
         locked_until = ${timeIn('$2')},
         deliveries   = event.deliveries + 1`
}

/** The statements of a store, each under a name that is unique to its text. */
export type PostgresStatements = ReturnType<typeof statementsFor>

function named<Name extends string>(
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Statement>> {
  const entries = Object.entries<string>(texts)
  return Object.fromEntries(
    entries.map(([name, text]) => [
      name,
      { name: `sendoff_${name}_${hash('sha256', text).slice(0, 8)}`, text },
    ]),
  ) as Record<Name, Statement>
}
