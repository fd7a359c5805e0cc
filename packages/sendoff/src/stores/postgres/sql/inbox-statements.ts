import type { PostgresTables } from '../schema/postgres-tables.ts'
import { inMs } from './row-columns.ts'
import { rows, timeAgo, timeIn } from './row-conditions.ts'

/** The statements of the inbox, for checked names. */
export function inboxStatementsFor({ inbox }: PostgresTables) {
  return {
    // $1 consumer, $2 message id. By primary key. Waits for another transaction that has inserted the same.
    // Returns a row if the mark is new.
    mark: `
  insert into ${inbox} (consumer, message_id, received_at)
  values ($1, $2, ${timeIn('0')})
      on conflict (consumer, message_id) do nothing
  returning 1`,

    // No parameters. Limits waiting to the least time possible, until the end of the transaction. Returns the
    // limit from before.
    waitForNothing: `select current_setting('lock_timeout'), set_config('lock_timeout', '1', true)`,

    // $1 the limit from before.
    waitAgain: `select set_config('lock_timeout', $1, true)`,

    // $1 consumer, $2 message id. By primary key.
    isMarked: `select 1 from ${inbox} where consumer = $1 and message_id = $2`,

    // $1 consumer, $2 age in ms, $3 time to begin at in ms, $4 limit. The oldest by <table>_inbox_at, then by
    // their place in the file. The beginning keeps the statement from reading again what earlier ones have
    // deleted, as long as VACUUM has not removed it. Returns how many there were, and the last time.
    purgeMarks: `
  with old as materialized (
    select ctid, received_at
      from ${inbox}
     where consumer = $1
       and received_at < ${timeAgo('$2')}
       and received_at >= to_timestamp($3::float8 / 1000)
     order by received_at
     limit ${rows('$4')}
       for update skip locked
  ), gone as (
    delete from ${inbox} where ctid = any (array(select ctid from old)) returning received_at
  )
  select count(*), ${inMs('max(received_at)')} from gone`,
  } as const
}
