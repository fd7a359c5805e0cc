import type { SqliteTables } from '../schema/sqlite-tables.ts'

const entryColumns = `id, at, actor, action, detail, plan, state, affected, progress, updated_at as updatedAt`

/** The statements of operators' actions, and of their audit. */
export function actionStatementsFor({ events, idempotency, lock, meta, audit, auditEvent }: SqliteTables) {
  return {
    // ? event id, ? destination. By the unique index.
    actionRow: `
  select event_id as eventId, destination, seq, status, attempts, deliveries, available_at as availableAt,
         blocked_at is not null as isBlocked, locked_by as lockedBy, locked_until as lockedUntil
    from ${events}
   where event_id = ? and destination = ?`,

    // ? event id. By the unique index.
    destinationsOf: `select event_id as eventId, destination from ${events} where event_id = ? order by destination`,

    // ? idempotency key. By primary key.
    eventOfKey: `select event_id as eventId from ${idempotency} where key = ?`,

    // ? now. Reads the table, which has a row for each lock.
    livingLocks: `
  select token, until, low_at as lowAt, low_seq as lowSeq, high_at as highAt, high_seq as highSeq, held
    from ${lock}
   where until > ?`,

    // ? now, ? seq. By primary key. The fence rises here, too: a process that held the row before it died
    // must not settle it now.
    replay: `
  update ${events}
     set status = 0, available_at = ?, attempts = 0, losses = 0, deliveries = deliveries + 1, done_at = null,
         last_error = null, locked_by = null, locked_until = null, blocked_at = null
   where seq = ?`,

    // ? seq. By primary key.
    deleteRow: `delete from ${events} where seq = ?`,

    // ? now, ? actor, ? action, ? detail, ? plan, ? state, ? affected, ? progress, ? updated at. By primary
    // keys.
    addAudit: `
  insert into ${audit} (id, at, actor, action, detail, plan, state, affected, progress, updated_at)
  values (1 + max(coalesce((select max(id) from ${audit}), 0),
                  coalesce((select cast(value as integer) from ${meta} where key = 'purged_audit'), 0)),
          ?, ?, ?, ?, ?, ?, ?, ?, ?)
  returning id`,

    // ? audit id, ? event id, ? destination. By primary key.
    addAuditEvent: `
  insert into ${auditEvent} (audit_id, event_id, destination)
  values (?, ?, ?)
  on conflict do nothing`,

    // ? rows to add, ? progress, ? state, ? now, ? id, ? progress expected. By primary key.
    stepAudit: `
  update ${audit}
     set affected = coalesce(affected, 0) + ?, progress = ?, state = ?, updated_at = ?
   where id = ? and progress is ?`,

    // ? id to start before, ? limit. By primary key.
    audit: `select ${entryColumns} from ${audit} where id < ? order by id desc limit ?`,

    // ? id. By primary key.
    auditEntry: `select ${entryColumns} from ${audit} where id = ?`,

    // ? event id, ? destination, ? limit. By the primary key of <table>_audit_event, then by that of
    // <table>_audit.
    auditOf: `
  select ${entryColumns}
    from ${audit}
   where id in (select audit_id
                  from ${auditEvent}
                 where event_id = ? and destination = ?
                 order by audit_id desc
                 limit ?)
   order by id`,

    // ? added before, ? limit. By primary key, whose order is that of time.
    oldAudit: `
  select id
    from (select id, at, state from ${audit} order by id limit 10000)
   where at < ? and state is not 'running'
   order by id
   limit ?`,

    // Keeps the highest id that was in use, so that no later entry has the id of a purged one.
    keepAuditIds: `
  insert into ${meta} (key, value)
  select 'purged_audit', cast(max(id) as text) from ${audit} where true
  on conflict (key) do update set value = excluded.value
   where cast(excluded.value as integer) > cast(value as integer)`,

    // ? audit id. By <table>_audit_event_id.
    deleteAuditEvents: `delete from ${auditEvent} where audit_id = ?`,

    // ? id. By primary key.
    deleteAudit: `delete from ${audit} where id = ?`,
  } as const
}
