import type { SqliteTables } from '../schema/sqlite-tables.ts'
import { storedColumns } from './row-columns.ts'

// ? status mask: bit n for status n.
const inStatus = '((1 << status) & ?) <> 0'

// ? event type, ? aggregate type, ? aggregate id, ? tenant id, ? destination, each twice; null for any.
const matching = `
     (? is null or event_type = ?)
     and (? is null or aggregate_type = ?)
     and (? is null or aggregate_id = ?)
     and (? is null or tenant_id = ?)
     and (? is null or destination = ?)`

// ? DONE before, ? DEAD before, ? written before; null to keep those. If a row has an end state but no end
// time, its age counts from its beginning.
const outlived = `
     (status = 1 and coalesce(done_at, created_at) < ?
      or status = 3 and coalesce(done_at, created_at) < ?
      or created_at < ?)`

/** The statements for operators and schedulers. */
export function upkeepStatementsFor(tables: SqliteTables) {
  const { table, events, meta, idempotency, attempt, control, node } = tables

  return {
    // inStatus, matching, ? seq to start behind, ? limit. By primary key, in write order.
    query: `
  select ${storedColumns}
    from ${events}
   where ${inStatus} and ${matching} and seq > ?
   order by seq
   limit ?`,

    // matching, ? seq to start behind, ? limit. By <table>_dead, so that retained DONE rows are not touched.
    // Otherwise SQLite would prefer the primary key.
    queryDead: `
  select ${storedColumns}
    from ${events} indexed by "${table}_dead"
   where status = 3 and ${matching} and seq > ?
   order by seq
   limit ?`,

    // ? event ids as JSON, inStatus, matching, ? seq to start behind, ? limit. By the unique index.
    queryEvents: `
  select ${storedColumns}
    from ${events}
   where event_id in (select value from json_each(?)) and ${inStatus} and ${matching} and seq > ?
   order by seq
   limit ?`,

    // inStatus, matching. Reads the table.
    count: `select count(*) as count from ${events} where ${inStatus} and ${matching}`,

    // matching. By <table>_dead. Reads rows of the table only if the filter needs them.
    countDead: `
  select count(*) as count
    from ${events} indexed by "${table}_dead"
   where status = 3 and ${matching}`,

    // ? event id, inStatus, matching. By the unique index.
    countEvent: `
  select count(*) as count
    from ${events}
   where event_id = ? and ${inStatus} and ${matching}`,

    // ? event id, ? destination. Reads <table>_attempt_row, whose entries end with the id.
    attempts: `
  select attempts, failed_at as failedAt, error, locked_by as lockedBy
    from ${attempt}
   where event_id = ?
     and destination = ?
   order by id`,

    // ? seq to start behind, ? limit. By primary key. Reads the rows that one step of a purge examines.
    purgeWindow: `
  select count(*) as size, max(seq) as last, min(created_at) as oldest
    from (select seq, created_at from ${events} where seq > ? order by seq limit ?)`,

    // ? seq to start behind, ? last seq, outlived. Rows by primary key, then the history of each by
    // <table>_attempt_row. SQLite does not reorder a cross join, however small the history seems.
    purgeAttempts: `
  delete from ${attempt}
   where id in (
         select attempt.id
           from ${events} as event
          cross join ${attempt} as attempt
             on attempt.event_id = event.event_id and attempt.destination = event.destination
          where event.seq > ? and event.seq <= ? and ${outlived})`,

    // ? seq to start behind, ? last seq, outlived. By primary key.
    purge: `delete from ${events} where seq > ? and seq <= ? and ${outlived}`,

    // ? used before, ? limit. The oldest by <table>_idempotency_at alone, then by primary key.
    purgeIdempotencyKeys: `
  delete from ${idempotency}
   where key in (
         select key
           from ${idempotency}
          where created_at < ?
          order by created_at
          limit ?)`,

    // ? kind, ? name, ? now. By primary key. A control that is set already stays as it is.
    setControl: `
  insert into ${control} (kind, name, updated_at)
  values (?, ?, ?)
  on conflict (kind, name) do nothing`,

    // ? kind, ? name. By primary key.
    liftControl: `delete from ${control} where kind = ? and name = ?`,

    // No parameters. By primary key.
    controls: `
  select kind, name, value as content
    from ${control}
   where kind in ('pauseType', 'pauseDestination', 'mode', 'routing')
   order by kind, name`,

    // ? name of the version, ? content, ? now. By primary key.
    addRouting: `insert into ${control} (kind, name, value, updated_at) values ('routing', ?, ?, ?)`,

    // ? name of the version. By primary key.
    forgetOldRouting: `delete from ${control} where kind = 'routing' and name < ?`,

    // ? revision, ? revision. By primary key. Shuts out older code. The first release reads only `version`.
    raiseOldestCode: `
  insert into ${meta} (key, value) values ('oldest_code', ?), ('version', ?)
  on conflict (key) do update set value = excluded.value
   where cast(value as integer) < cast(excluded.value as integer)`,

    // No parameters. By primary key. Returns the revision of the schema.
    schemaRevision: `select value from ${meta} where key = 'revision'`,

    // No parameters. By primary key.
    forgetMode: `delete from ${control} where kind = 'mode'`,

    // ? now. Reads the table, which has a row for each process.
    forgetNodes: `delete from ${node} where until <= ?`,

    // ? id, ? mode. Reads the table. Returns living processes with another mode; none if the mode is null.
    nodesOfOtherMode: `select id, mode from ${node} where id <> ? and mode <> ? order by id`,

    // ? id, ? mode, ? now, ? until. By primary key.
    joinNode: `
  insert into ${node} (id, mode, started_at, until)
  values (?, ?, ?, ?)
  on conflict (id) do update set mode = excluded.mode, until = excluded.until`,

    // ? id. By primary key.
    leaveNode: `delete from ${node} where id = ?`,
  } as const
}
