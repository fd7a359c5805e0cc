import type { MysqlTables } from '../schema/mysql-tables.ts'
import { inMs } from './row-columns.ts'
import { ago, now, pending, wholeNow } from './row-conditions.ts'

const entryColumns = `id, ${inMs('at')}, actor, action, detail, plan, state, affected, progress, ${inMs('updated_at')}`

/** The statements of operators' actions, and of their audit, for checked names. */
export function actionStatementsFor({ events, idempotency, lock, audit, auditEvent }: MysqlTables) {
  return {
    // rowIds. By the index `event`. With `skipsBusy`, leaves out rows that another transaction has locked.
    actionRows: (rowIds: string, skipsBusy: boolean) => `
  select event_id, destination, seq, status, attempts, deliveries, ${inMs('available_at')},
         blocked_at is not null, locked_by, coalesce(locked_until > ${now}, false)
    from ${events} force index (event)
   where ${rowIds}
   order by event_id, destination
     for update${skipsBusy ? ' skip locked' : ''}`,

    // rowIds. By the index `event`. Locks nothing.
    holdersOfRows: (rowIds: string) => `
  select event_id, destination, locked_by from ${events} force index (event) where ${rowIds} and ${pending}`,

    // ? event id. By the index `event`.
    rowsOfEvent: `
  select event_id, destination from ${events} force index (event) where event_id = ? order by destination`,

    // ? idempotency key. By primary key.
    eventOfKey: `select event_id from ${idempotency} where \`key\` = ?`,

    // No parameters. Reads the table, which has a row for each lock.
    livingLocks: `
  select token, held, ${inMs('low_at')}, low_seq, ${inMs('high_at')}, high_seq
    from ${lock}
   where \`until\` > ${now}`,

    // No parameters. By primary key, for rows that are locked. The fence rises here, too: a process that held
    // the row before it died must not settle it now.
    replay: (rows: string) => `
  update ${events} force index (primary)
     set status = 0, available_at = ${wholeNow}, attempts = 0, losses = 0, deliveries = deliveries + 1,
         done_at = null, last_error = null, locked_by = null, locked_until = null, blocked_at = null
   where ${rows}`,

    // ? actor, ? action, ? detail, ? plan, ? state, ? affected, ? progress, ? plan.
    addAudit: `
  insert into ${audit} (at, actor, action, detail, plan, state, affected, progress, updated_at)
  values (${wholeNow}, ?, ?, ?, ?, ?, ?, ?, if(? is null, null, ${wholeNow}))`,

    // No parameters.
    lastAudit: 'select last_insert_id()',

    // ? audit id, ? event id, ? destination for each. By primary key.
    addAuditEvents: (count: number) => `
  insert into ${auditEvent} (audit_id, event_id, destination)
  values ${Array.from({ length: count }, () => '(?, ?, ?)').join()}
      on duplicate key update audit_id = audit_id`,

    // ? id. By primary key. Until the end of the transaction no other process takes a step.
    lockAudit: `select progress from ${audit} where id = ? for update`,

    // ? rows to add, ? progress, ? state, ? id. By primary key.
    stepAudit: `
  update ${audit}
     set affected = coalesce(affected, 0) + ?, progress = ?, state = ?, updated_at = ${wholeNow}
   where id = ?`,

    // ? id to start before. By primary key.
    audit: (limit: number) =>
      `select ${entryColumns} from ${audit} where id < ? order by id desc limit ${limit}`,

    // ? id. By primary key.
    auditEntry: `select ${entryColumns} from ${audit} where id = ?`,

    // ? event id, ? destination. By the primary key of <table>_audit_event, then by that of <table>_audit.
    auditOf: (limit: number) => `
  select ${entryColumns}
    from ${audit}
    join (select audit_id
            from ${auditEvent}
           where event_id = ? and destination = ?
           order by audit_id desc
           limit ${limit}) as found on found.audit_id = id
   order by id`,

    // ago. By primary key, whose order is that of time.
    oldAudit: (limit: number) => `
  select id
    from (select id, at, state from ${audit} order by id limit 10000) as oldest
   where at < ${ago} and coalesce(state, '') <> 'running'
   order by id
   limit ${limit}`,

    // No parameters. By the index `audit`, and by primary key.
    deleteAuditEvents: (ids: string) => `delete from ${auditEvent} where audit_id in (${ids})`,
    deleteAudit: (ids: string) => `delete from ${audit} where id in (${ids})`,
  } as const
}
