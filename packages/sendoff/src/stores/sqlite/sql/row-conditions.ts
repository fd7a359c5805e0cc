import type { SqliteTables } from '../schema/sqlite-tables.ts'

// Exactly these words let SQLite use the partial indexes <table>_pending, _key and _due.
export const pending = 'status in (0, 2)'
export const unblocked = `${pending} and blocked_at is null`

/** Exactly these words let SQLite use the partial index <table>_failed. */
export const failedOfKey =
  'ordering_key is not null and (status = 2 or status = 0 and blocked_at is not null)'

/**
 * ? now. Pending rows that have their place in write order: all except rows written for later that no process
 * has held yet.
 */
export const inLine = `${pending} and (available_at <= ? or deliveries > 0 or blocked_at is not null)`

/**
 * No parameters. Reads the control table once for each run of a statement, by its primary key. It first asks
 * whether anything is paused at all, which keeps the usual case cheap. That adds 2 to 5 % to the statements
 * of a claim of 500, which hardly matters overall. Without it, the check would add 7 to 10 %.
 */
export function unpaused({ control }: SqliteTables): string {
  return `
         (not exists (select 1 from ${control} where kind in ('pauseType', 'pauseDestination'))
          or event_type not in (select name from ${control} where kind = 'pauseType')
         and destination not in (select name from ${control} where kind = 'pauseDestination'))`
}

/**
 * ? now, ? now. How long a row has to wait by its own columns, in milliseconds; null if an operator has to
 * decide.
 */
export const ownWaitMs = `iif(blocked_at is null, min(${Number.MAX_SAFE_INTEGER},
           max(0, available_at - ?, iif(locked_by is null, 0, locked_until - ?))), null)`

/**
 * As `ownWaitMs`, with pauses and parked keys. SQLite takes 80 µs to set it up, whatever the number of rows.
 */
export function waitMs(tables: SqliteTables): string {
  return `case
           when not ${unpaused(tables)} then null
           when exists (select 1
                          from ${tables.control}
                         where kind = iif(destination = '', 'park', 'park/' || destination)
                           and name = ordering_key) then null
           else ${ownWaitMs}
         end`
}
