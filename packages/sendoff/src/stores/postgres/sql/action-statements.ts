import type { PostgresTables } from '../schema/postgres-tables.ts'
import { inMs } from './row-columns.ts'
import { timeAgo, timeIn, unsettled } from './row-conditions.ts'

const wholeNow = timeIn('0')

const entryColumns = `id, ${inMs('at')}, actor, action, detail, plan, state, affected, progress, ${inMs('updated_at')}`

/** The statements of operators' actions, and of their audit, for checked names. */
export function actionStatementsFor({
  events,
  attempt,
  idempotency,
  lock,
  audit,
  auditEvent,
}: PostgresTables) {
  // $1 event ids, $2 destinations. They are in a subquery, so that a plan does not depend on how many there
  // are.
  const given = 'unnest((select $1::text[]), (select $2::text[])) as given (event_id, destination)'

  return {
    // $1 event ids, $2 destinations. By primary key, in ascending order.
    actionRows: actionRows(''),
    // The same, without rows that another transaction is changing. A worker that settles rows locks them in
    // any order, so this statement must not wait for it.
    freeActionRows: actionRows('skip locked'),

    // $1 event ids, $2 destinations. By primary key. Returns pending rows, without a lock.
    holdersOfRows: `
  select event.event_id, event.destination, event.locked_by
    from ${given}
    join ${events} as event using (event_id, destination)
   where ${unsettled}`,

    // $1 event id. By primary key.
    rowsOfEvent: `select event_id, destination from ${events} where event_id = $1 order by destination`,

    // $1 idempotency key. By primary key.
    eventOfKey: `select event_id from ${idempotency} where key = $1`,

    // No parameters. Reads the table, which has a row for each lock.
    livingLocks: `
  select token, held, ${inMs('low_at')}, low_seq, ${inMs('high_at')}, high_seq
    from ${lock}
   where until > clock_timestamp()`,

    // $1 event ids, $2 destinations. By primary key. The fence rises here, too: a process that held the row
    // before it died must not settle it now.
    replay: `
  update ${events} as event
     set status = 0, available_at = ${wholeNow}, attempts = 0, losses = 0, deliveries = event.deliveries + 1,
         done_at = null, last_error = null, locked_by = null, locked_until = null, blocked_at = null
    from ${given}
   where event.event_id = given.event_id and event.destination = given.destination`,

    // $1 event ids, $2 destinations, $3 reason. By primary key.
    kill: `
  with killed as (
    update ${events} as event
       set status = 3, done_at = ${wholeNow}, blocked_at = null, last_error = $3::text, losses = 0,
           deliveries = event.deliveries + 1, locked_by = null, locked_until = null
      from ${given}
     where event.event_id = given.event_id and event.destination = given.destination
    returning event.event_id, event.destination, event.attempts
  )
  insert into ${attempt} (event_id, destination, attempts, failed_at, error)
  select event_id, destination, attempts, ${wholeNow}, $3::text
    from killed`,

    // $1 event ids, $2 destinations. Rows by primary key, their history by <table>_attempt_row.
    removeRows: `
  with gone as (
    delete from ${events} as event
     using ${given}
     where event.event_id = given.event_id and event.destination = given.destination
  )
  delete from ${attempt} as attempt
   using ${given}
   where attempt.event_id = given.event_id and attempt.destination = given.destination`,

    // $1 actor, $2 action, $3 detail, $4 plan, $5 state, $6 affected, $7 progress.
    addAudit: `
  insert into ${audit} (at, actor, action, detail, plan, state, affected, progress, updated_at)
  values (${wholeNow}, $1, $2, $3, $4::text, $5, $6::bigint, $7, case when $4::text is not null then ${wholeNow} end)
  returning id`,

    // $1 event ids, $2 destinations, $3 audit id. By primary key.
    addAuditEvents: `
  insert into ${auditEvent} (audit_id, event_id, destination)
  select $3::bigint, event_id, destination
    from ${given}
      on conflict do nothing`,

    // $1 id, $2 progress expected, $3 progress, $4 state, $5 rows to add. By primary key.
    stepAudit: `
  update ${audit}
     set affected = coalesce(affected, 0) + $5::bigint, progress = $3::text, state = $4::text, updated_at = ${wholeNow}
   where id = $1::bigint and progress is not distinct from $2::text
  returning 1`,

    // $1 id to start before, $2 limit. By primary key.
    audit: `select ${entryColumns} from ${audit} where id < $1::bigint order by id desc limit $2::integer`,

    // $1 id. By primary key.
    auditEntry: `select ${entryColumns} from ${audit} where id = $1::bigint`,

    // $1 event id, $2 destination, $3 limit. By the primary key of <table>_audit_event, then by that of
    // <table>_audit.
    auditOf: `
  select ${entryColumns}
    from ${audit}
   where id = any (array(select audit_id
                           from ${auditEvent}
                          where event_id = $1 and destination = $2
                          order by audit_id desc
                          limit $3::integer))
   order by id`,

    // $1 age in ms, $2 limit. By primary key, whose order is that of time. Rows of <table>_audit_event by
    // <table>_audit_event_id.
    purgeAudit: `
  with old as materialized (
    select id
      from (select id, at, state from ${audit} order by id limit 10000) as oldest
     where at < ${timeAgo('$1')} and state is distinct from 'running'
     order by id
     limit $2::integer
  ), forgotten as (
    delete from ${auditEvent} where audit_id = any (array(select id from old))
  ), gone as (
    delete from ${audit} where id = any (array(select id from old)) returning 1
  )
  select count(*) from gone`,
  } as const

  function actionRows(busyRows: string): string {
    return `
  select event.event_id, event.destination, event.seq, event.status, event.attempts, event.deliveries,
         ${inMs('event.available_at')}, event.blocked_at is not null, event.locked_by,
         coalesce(event.locked_until > clock_timestamp(), false)
    from ${given}
    join ${events} as event using (event_id, destination)
   order by event.event_id, event.destination
     for no key update of event ${busyRows}`
  }
}
