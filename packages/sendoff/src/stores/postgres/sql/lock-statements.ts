import { countedLosses } from './partition-statements.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'
import { inMs, rowColumns } from './row-columns.ts'
import { dueFrom, freeRow, rows, timeIn, unblocked, unblockedOf, wasOver } from './row-conditions.ts'

/** The statements about named locks and for their owners, for checked names. */
export function lockStatementsFor(tables: PostgresTables) {
  const { events, lock } = tables
  const isOwner = 'name = $1 and token = $2 and until > clock_timestamp()'
  const bounds = 'low_at, low_seq, high_at, high_seq'
  const held = `
    select ${bounds} from ${lock} where ${isOwner}`
  const renewed = `
    update ${lock} set until = ${timeIn('$8')} where ${isOwner} returning ${bounds}`

  return {
    // $1 name, $2 token, $3 time limit, $4 destination whose rows count losses within bounds, or null for
    // any. By primary key. FOR UPDATE waits for settlements of the last owner, which lock the row by KEY
    // SHARE.
    //
    // If that owner vanished, each row that it had read counts a loss. The statement finds rows by
    // <table>_due between the bounds, about as many as the owner held. It finds rows that the owner recorded
    // as held by <table>_written.
    //
    // BETWEEN only makes PostgreSQL expect few rows. From the other conditions it expects a ninth of all
    // rows, and would compile the statement.
    acquireLock: acquire(
      unblocked,
      `
       and destination = coalesce($4::text, destination)`,
    ),

    // As acquireLock. Finds rows between the bounds by <table>_destination.
    acquireLockOf: acquire(unblockedOf('$4::text')),

    // $1 name, $2 token, $3 time limit. By primary key.
    renewLock: `
  update ${lock}
     set until = ${timeIn('$3')}
   where name = $1 and token = $2 and until > clock_timestamp()
  returning 1`,

    // $1 name, $2 token. By primary key. The bounds are deleted with the row.
    releaseLock: `delete from ${lock} where name = $1 and token = $2`,

    // poll. Reads <table>_due in its order: no sort, no DONE row touched.
    pollDue: poll(held),
    pollDueRenewing: poll(renewed),

    // poll, for a destination. Reads <table>_destination in its order, and so no row of others.
    pollDueOf: poll(held, unblockedOf('$7::text')),
    pollDueRenewingOf: poll(renewed, unblockedOf('$7::text')),

    // pollRecording. By <table>_due, as pollDue.
    pollDueRecording: pollRecording(),

    // pollRecording, for a destination. By <table>_destination, as pollDueOf.
    pollDueRecordingOf: pollRecording(unblockedOf('$7::text')),

    // $1 lock, $2 token, $3 to $6 the ends of what is held, or nulls. By primary key. Returns nothing without
    // the lock.
    recordHeld: `
  update ${lock}
     set low_at = to_timestamp($3::float8 / 1000), low_seq = $4::bigint,
         high_at = to_timestamp($5::float8 / 1000), high_seq = $6::bigint
   where name = $1 and token = $2 and until > clock_timestamp()
  returning 1`,
  } as const

  function acquire(state: string, condition = ''): string {
    return `
  with before as materialized (
    select token, until, ${bounds}, held
      from ${lock}
     where name = $1
       for update
  ), taken as (
    insert into ${lock} as old (name, token, until)
    select $1, $2, ${timeIn('$3')}
     where not exists (select from before where token <> $2 and not ${wasOver()})
        on conflict (name) do update
       set token    = excluded.token,
           until    = excluded.until,
           low_at   = case when old.token = excluded.token then old.low_at end,
           low_seq  = case when old.token = excluded.token then old.low_seq end,
           high_at  = case when old.token = excluded.token then old.high_at end,
           high_seq = case when old.token = excluded.token then old.high_seq end,
           held     = case when old.token = excluded.token then old.held end
     where old.token = excluded.token or ${wasOver('old.until')}
    returning 1
  ), vanished as materialized (
    select token, ${bounds}, held from before where exists (select from taken) and token <> $2
  ), counted as (
    update ${events}
       set losses = losses + 1, deliveries = deliveries + 1
     where ${state}
       and available_at between (select low_at from vanished) and (select high_at from vanished)
       and (available_at, seq) >= (select low_at, low_seq from vanished)
       and (available_at, seq) <= (select high_at, high_seq from vanished)
       and locked_by is null${condition}
  ), ${countedLosses(tables, 'vanished')}
  select 1 from taken`
  }

  // $1 lock, $2 token, $3 limit, $4 and $5 place to start from, $6 skipRecentMs, $7 destination or null for
  // any, $8 time limit to renew the lock with, if it is renewed.
  //
  // Returns nothing without the lock. Otherwise one row with the recorded bounds, and one with nulls for them
  // for each row that is due. The server sends such a row as soon as it is read. If a row waited for others,
  // the server would copy it first, at twice the cost.
  function poll(owner: string, state?: string): string {
    return `
  with owner as materialized (${owner}
  )
  select ${inMs('low_at')}, low_seq, ${inMs('high_at')}, high_seq, nothing.*
    from owner
    left join (select ${rowColumns('event')} from ${events} as event where false) as nothing on true
   union all
  (select null::float8, null::bigint, null::float8, null::bigint, ${rowColumns('event')}
     ${dueForOwner(state)})`
  }

  // $1 to $7 as poll, $8 to $11 the ends of what is held already, or nulls. Records the bounds of that and of
  // the rows that it reads, unless they are recorded. Returns nothing without the lock. Otherwise the rows
  // that are due, or one row of nulls.
  //
  // The rows wait for the record, so the server copies them: it is for few rows. The bounds that it compares
  // are those that it has read, not those of the row that it changes. Another record of this owner may have
  // come in between, and must not make it return nothing.
  function pollRecording(state?: string): string {
    return `
  with owner as materialized (${held}
  ), due as materialized (
   select event.available_at, ${rowColumns('event')}
     ${dueForOwner(state)}
  ), places as materialized (
    select available_at, seq from due
     union all
    select to_timestamp(at / 1000), seq
      from (values ($8::float8, $9::bigint), ($10::float8, $11::bigint)) as held (at, seq)
     where seq is not null
  ), news as materialized (
    select low.available_at as from_at, low.seq as from_seq, high.available_at as to_at, high.seq as to_seq
      from owner
      left join (select * from places order by available_at, seq limit 1) as low on true
      left join (select * from places order by available_at desc, seq desc limit 1) as high on true
     where (low_at, low_seq, high_at, high_seq)
           is distinct from (low.available_at, low.seq, high.available_at, high.seq)
  ), recorded as (
    update ${lock}
       set low_at = from_at, low_seq = from_seq, high_at = to_at, high_seq = to_seq
      from news
     where ${isOwner}
    returning 1
  )
  select due.*
    from (select from recorded union all select from owner where not exists (select from news)) as taken
    left join due on true`
  }

  function dueForOwner(state: string | undefined): string {
    const destination = state === undefined ? { destination: '$7::text' } : {}
    return `from ${events} as event
    where exists (select from owner)
      and ${dueFrom('$4', '$5', state)}
      and ${freeRow(tables, '$6', destination)}
    order by available_at, seq
    limit ${rows('$3')}`
  }
}
