import type { SqliteTables } from '../schema/sqlite-tables.ts'

/** The statements that add rows to a transaction. */
export function insertStatementsFor({ events, idempotency }: SqliteTables) {
  return {
    // Encloses an insert of several statements, so that it happens as a whole or not at all.
    beginInsert: 'savepoint sendoff_insert',
    keepInsert: 'release sendoff_insert',
    undoInsert: 'rollback to sendoff_insert',

    // ? one value per column. The unique index on (event_id, destination) refuses an id used before.
    insert: `
  insert into ${events} (
         event_id, destination, event_type, aggregate_type, aggregate_id, tenant_id, ordering_key, partition_no,
         payload, content_type, headers, occurred_at, available_at, created_at, deliveries, locked_by, locked_until)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,

    // ? key, ? event id, ? now. By primary key. Changes nothing if the key was used before.
    useIdempotencyKey: `
  insert into ${idempotency} (key, event_id, created_at)
  values (?, ?, ?)
  on conflict (key) do nothing`,

    // ? key. By primary key. Returns the event that used it.
    idempotencyKey: `select event_id as eventId from ${idempotency} where key = ?`,

    // ? event id, ? destination. Reads the unique index alone.
    exists: `select 1 from ${events} where event_id = ? and destination = ?`,
  } as const
}
