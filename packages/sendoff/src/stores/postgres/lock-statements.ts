import type { PostgresTables } from './postgres-tables.ts'
import { rowColumns } from './row-columns.ts'
import { dueFrom, freeRow, pending, rows, timeIn, unblocked } from './row-conditions.ts'

/** The statements about named locks and for their owners, for checked names. */
export function lockStatementsFor(tables: PostgresTables) {
  const { events, lock } = tables

  return {
    // $1 name, $2 token, $3 time limit. By primary key. FOR UPDATE waits for settlements of the last owner, which
    // hold on to the row by KEY SHARE. Where that owner vanished, what it had read counts a loss: by
    // <table>_due between the bounds, about as many rows as it held.
    acquireLock: `
  with before as materialized (
    select token, until, low_at, low_seq, high_at, high_seq
      from ${lock}
     where name = $1
       for update
  ), taken as (
    insert into ${lock} as held (name, token, until)
    select $1, $2, ${timeIn('$3')}
     where not exists (select from before where token <> $2 and until > clock_timestamp())
        on conflict (name) do update
       set token    = excluded.token,
           until    = excluded.until,
           low_at   = case when held.token = excluded.token then held.low_at end,
           low_seq  = case when held.token = excluded.token then held.low_seq end,
           high_at  = case when held.token = excluded.token then held.high_at end,
           high_seq = case when held.token = excluded.token then held.high_seq end
     where held.token = excluded.token or held.until <= clock_timestamp()
    returning 1
  ), counted as (
    update ${events}
       set losses = losses + 1, deliveries = deliveries + 1
      from before
     where exists (select from taken)
       and before.token <> $2
       and ${unblocked}
       and (available_at, seq) >= (before.low_at, before.low_seq)
       and (available_at, seq) <= (before.high_at, before.high_seq)
       and locked_by is null
  )
  select 1 from taken`,

    // $1 name, $2 token, $3 time limit. By primary key.
    renewLock: `
  update ${lock}
     set until = ${timeIn('$3')}
   where name = $1 and token = $2 and until > clock_timestamp()
  returning 1`,

    // $1 name, $2 token. By primary key; the bounds go with the row.
    releaseLock: `delete from ${lock} where name = $1 and token = $2`,

    // poll. Reads <table>_due in its order: no sort, no DONE row touched.
    pollDue: poll(`${dueFrom('$4', '$5')} and ${freeRow(tables, '$6')}`, 'available_at, seq'),

    // poll, where $4 means nothing. Reads <table>_written in its order.
    pollWritten: poll(
      `${pending}
       and seq >= $5::bigint
       and case when blocked_at is not null then false
                when available_at > (select clock_timestamp()) or $4::float8 is null then false
                else ${freeRow(tables, '$6')} end`,
      'seq',
    ),
  } as const

  // $1 lock, $2 token, $3 limit, $4 and $5 place to start from, $6 skipRecentMs, $7 to $10 the ends of what is
  // held already, or nulls, $11 time limit to renew the lock with, or null. Answers nothing without the lock; otherwise at least one row, of which the first
  // column says whether the lock still was the owner's when its bounds were recorded. They are recorded only
  // where they have changed, so that an idle owner writes nothing.
  function poll(condition: string, order: string): string {
    return `
  with owner as materialized (
    select low_at, low_seq, high_at, high_seq
      from ${lock}
     where name = $1 and token = $2 and until > clock_timestamp()
  ), due as materialized (
    select *
      from ${events}
     where exists (select from owner)
       and ${condition}
     order by ${order}
     limit ${rows('$3')}
  ), place as (
    select available_at, seq
      from due
     union all
    select to_timestamp(at / 1000), seq
      from (values ($7::float8, $8::bigint), ($9::float8, $10::bigint)) as held (at, seq)
     where at is not null
  ), low as (
    select available_at, seq from place order by available_at, seq limit 1
  ), high as (
    select available_at, seq from place order by available_at desc, seq desc limit 1
  ), bounds as materialized (
    select low.available_at as low_at, low.seq as low_seq, high.available_at as high_at, high.seq as high_seq,
           (low.available_at, low.seq, high.available_at, high.seq)
             is distinct from (owner.low_at, owner.low_seq, owner.high_at, owner.high_seq)
             or $11::float8 is not null as changed
      from owner
      left join low on true
      left join high on true
  ), recorded as (
    update ${lock} as held
       set low_at = bounds.low_at, low_seq = bounds.low_seq, high_at = bounds.high_at, high_seq = bounds.high_seq,
           until = coalesce(${timeIn('$11')}, until)
      from bounds
     where bounds.changed and held.name = $1 and held.token = $2
    returning 1
  )
  select (not bounds.changed or exists (select from recorded)), ${rowColumns('due')}
    from bounds
    left join due on true`
  }
}
