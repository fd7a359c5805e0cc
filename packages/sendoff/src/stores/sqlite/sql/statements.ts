import type { SqliteHandle, SqliteStatement } from '../drivers/sqlite-client.ts'
import { prepareStatement } from '../drivers/sqlite-client.ts'
import type { SqliteTables } from '../schema/sqlite-tables.ts'
import { actionStatementsFor } from './action-statements.ts'
import { inboxStatementsFor } from './inbox-statements.ts'
import { insertStatementsFor } from './insert-statements.ts'
import { keyStatementsFor } from './key-statements.ts'
import { laneStatementsFor } from './lane-statements.ts'
import { lockStatementsFor } from './lock-statements.ts'
import { lookStatementsFor } from './look-statements.ts'
import { partitionStatementsFor } from './partition-statements.ts'
import { rowColumns } from './row-columns.ts'
import { pending, unblocked, unpaused } from './row-conditions.ts'
import { reportStatementsFor } from './report-statements.ts'
import { upkeepStatementsFor } from './upkeep-statements.ts'

// ? available_at and ? seq to start from, ? now, ? written at the latest.
const dueWithin = `${unblocked}
     and (available_at, seq) >= (?, ?)
     and available_at <= ?
     and created_at <= ?`

// As dueWithin, with ? destination first.
const dueWithinOf = `destination = ?
     and ${dueWithin}`

// ? destination or null for any, ? the same.
const forDestination = '(? is null or destination = ?)'

// ? pairs of aggregate type and event type as a JSON array or null for any, ? the same. The pairs are read
// once for each run.
const ofTypes = `(? is null
          or (aggregate_type, event_type) in (
               select json_extract(value, '$[0]'), json_extract(value, '$[1]') from json_each(?)))`

// ? seq, ? deliveries, ? locked by (null for a row read without a claim). By primary key: a seq is never used
// twice.
const held = `
   where seq = ?
     and deliveries = ?
     and locked_by is ?
     and ${pending}`

/** Every statement of the store. */
export function statementsFor(tables: SqliteTables) {
  const { table, events, partition, attempt } = tables
  const eventsOf = `${events} indexed by "${table}_destination"`

  // ? seqs as a JSON array, ? deliveries, ? locked by, ? epoch or null for any, ? token, ? epoch. By primary
  // key, and the partitions by theirs.
  const heldGroup = `
   where seq in (select value from json_each(?))
     and deliveries = ?
     and locked_by is ?
     and ${pending}
     and (? is null
          or exists (select 1
                       from ${partition} as part
                      where part.partition_no = coalesce(${events}.partition_no, ${events}.seq % 256)
                        and part.owner = ? and part.epoch = ?))`

  // dueWithin, ? available_at and ? seq to end at, ? now, forDestination, ofTypes.
  const dueOfTypes = `${dueWithin}
     and (available_at, seq) <= (?, ?)
     and (locked_by is null or locked_until <= ?)
     and ${forDestination}
     and ${ofTypes}
     and ${unpaused(tables)}`

  // As dueOfTypes, with ? destination first instead of forDestination.
  const dueOfTypesOf = `${dueWithinOf}
     and (available_at, seq) <= (?, ?)
     and (locked_by is null or locked_until <= ?)
     and ${ofTypes}
     and ${unpaused(tables)}`

  return {
    // Takes the write lock at once: a transaction that reads first and writes later could fail halfway.
    begin: 'begin immediate',
    // Encloses statements that only read: they see the same state, and take the lock of readers once.
    beginRead: 'begin',
    commit: 'commit',

    // dueWithin, ? now, forDestination. Reads <table>_due, and the table only for rows up to the first that
    // fits. It runs before the write lock is taken, so that an idle poller does not disturb writers.
    anyDue: `
  select 1
    from ${events}
   where ${dueWithin}
     and (locked_by is null or locked_until <= ?)
     and ${forDestination}
     and ${unpaused(tables)}
   limit 1`,

    // dueWithin, ? now, forDestination, ? limit. Reads <table>_due in its order: no sort, no DONE row
    // touched.
    due: `
  select ${rowColumns}
    from ${events}
   where ${dueWithin}
     and (locked_by is null or locked_until <= ?)
     and ${forDestination}
     and ${unpaused(tables)}
   order by available_at, seq
   limit ?`,

    // ? available_at and ? seq to start from, ? now, ? rows to skip. Returns where the window of a claim
    // ends. Reads <table>_due alone.
    windowEnd: `
  select available_at as availableAt, seq
    from ${events}
   where ${unblocked}
     and (available_at, seq) >= (?, ?)
     and available_at <= ?
   order by available_at, seq
   limit 1 offset ?`,

    // dueOfTypes. As anyDue.
    anyDueOfTypes: `
  select 1
    from ${events}
   where ${dueOfTypes}
   limit 1`,

    // dueOfTypes, ? limit. As due.
    dueOfTypes: `
  select ${rowColumns}
    from ${events}
   where ${dueOfTypes}
   order by available_at, seq
   limit ?`,

    // As those above, for ? destination. They read <table>_destination in its order, and so no row of
    // others.
    anyDueOf: `
  select 1
    from ${eventsOf}
   where ${dueWithinOf}
     and (locked_by is null or locked_until <= ?)
     and ${unpaused(tables)}
   limit 1`,
    dueOf: `
  select ${rowColumns}
    from ${eventsOf}
   where ${dueWithinOf}
     and (locked_by is null or locked_until <= ?)
     and ${unpaused(tables)}
   order by available_at, seq
   limit ?`,
    windowEndOf: `
  select available_at as availableAt, seq
    from ${eventsOf}
   where destination = ?
     and ${unblocked}
     and (available_at, seq) >= (?, ?)
     and available_at <= ?
   order by available_at, seq
   limit 1 offset ?`,
    anyDueOfTypesOf: `
  select 1
    from ${eventsOf}
   where ${dueOfTypesOf}
   limit 1`,
    dueOfTypesOf: `
  select ${rowColumns}
    from ${eventsOf}
   where ${dueOfTypesOf}
   order by available_at, seq
   limit ?`,

    // ? event id, ? destination, dueWithin, ? now, ? claimer. By the unique index. Includes rows that the
    // claimer holds already.
    dueById: `
  select ${rowColumns}
    from ${events}
   where event_id = ?
     and destination = ?
     and ${dueWithin}
     and (locked_by is null or locked_until <= ? or locked_by = ?)
     and ${unpaused(tables)}`,

    // ? holder whose rows count no loss, ? new holder, ? lease end, ? seqs as a JSON array. By primary key;
    // no indexed column changes.
    //
    // Medians for batches of 500 with the select before it, node:sqlite / better-sqlite3, in µs per row: 6.9
    // / 5.1. One UPDATE for each row takes 7.4 / 5.8. UPDATE … WHERE seq IN (SELECT …) RETURNING takes 6.9 /
    // 6.1, and is unsorted. Single runs differ by 20 %.
    lease: `
  update ${events}
     set losses       = losses + (locked_by is not null and locked_by is not ?),
         locked_by    = ?,
         locked_until = ?,
         deliveries   = deliveries + 1
   where seq in (select value from json_each(?))`,

    // ? lease end, held.
    renew: `update ${events} set locked_until = ? ${held}`,

    // held.
    release: `update ${events} set locked_by = null, locked_until = null ${held}`,

    // The outcomes, each for one row. One prepared UPDATE for each row of a batch, in one transaction, is the
    // fastest form measured, and says which rows it refused.
    //
    // Medians for batches of 500, node:sqlite / better-sqlite3, in µs per row: 5.4 / 5.2. One UPDATE … FROM
    // json_each(?) takes 6.4 / 5.7, and the same with RETURNING 6.9 / 6.2.

    // Most outcomes are DONE, for rows of one claim: one statement settles such a group. If it did not find
    // all rows, it is undone and repeated row by row (6.6 to 5.1 / 6.0 to 4.8).
    beginGroup: 'savepoint sendoff_group',
    keepGroup: 'release sendoff_group',
    undoGroup: 'rollback to sendoff_group',

    // ? now, heldGroup.
    settleDoneGroup: settle('status = 1, done_at = ?, last_error = null', heldGroup),
    // heldGroup.
    settleDeleteGroup: `delete from ${events} ${heldGroup}`,

    // ? now, held.
    settleDone: settle('status = 1, done_at = ?, last_error = null'),
    // ? now, ? 1 if it counts, held.
    settleDoneFailed: settleFailed('status = 1, done_at = ?, last_error = null'),
    // ? due, ? error, ? 1 if it counts, held.
    settleRetry: settleFailed('status = 2, available_at = ?, last_error = ?'),
    // ? due, ? reason or null to keep the last one, held.
    settleDefer: settle('status = 0, available_at = ?, last_error = coalesce(?, last_error)'),
    // ? now, ? error, ? 1 if it counts, held.
    settleBlock: settleFailed('blocked_at = ?, last_error = ?', ''),
    // ? now, ? error, ? 1 if it counts, held.
    settleDead: settleFailed('status = 3, done_at = ?, last_error = ?'),
    // held.
    settleDelete: `delete from ${events} ${held}`,

    // ? event id, ? destination, ? attempts, ? now, ? error, ? holder.
    addAttempt: `
  insert into ${attempt} (event_id, destination, attempts, failed_at, error, locked_by)
  values (?, ?, ?, ?, ?, ?)`,

    // ? event id, ? destination. By <table>_attempt_row. The history is deleted with its row.
    deleteAttempts: `delete from ${attempt} where event_id = ? and destination = ?`,

    ...actionStatementsFor(tables),
    ...lookStatementsFor(tables),
    ...insertStatementsFor(tables),
    ...inboxStatementsFor(tables),
    ...lockStatementsFor(tables),
    ...laneStatementsFor(tables),
    ...keyStatementsFor(tables),
    ...partitionStatementsFor(tables),
    ...upkeepStatementsFor(tables),
    ...reportStatementsFor(tables),
  } as const

  function settle(outcome: string, rows = held, unblocks = 'blocked_at = null, '): string {
    return `
  update ${events}
     set ${outcome}, ${unblocks}deliveries = deliveries + 1, losses = 0, locked_by = null, locked_until = null ${rows}`
  }

  function settleFailed(outcome: string, unblocks?: string): string {
    return `${settle(`${outcome}, attempts = attempts + ?`, held, unblocks)}
  returning attempts`
  }
}

/** The statements of a store on one handle, each prepared when it is first used. */
export type PreparedStatements = {
  readonly [Name in keyof ReturnType<typeof statementsFor>]: SqliteStatement
}

// The statements that return rows for `readRow` and `readStoredRow`.
const readingRows: ReadonlySet<string> = new Set([
  'due',
  'dueOf',
  'dueOfTypes',
  'dueOfTypesOf',
  'dueById',
  'dueKeys',
  'dueKeysOf',
  'lane',
  'laneTo',
  'laneOf',
  'controlledLane',
  'controlledLaneTo',
  'controlledLaneOf',
  'ordered',
  'oneLane',
  'headOfKey',
  'query',
  'queryDead',
  'queryEvents',
  'scanPendingNewest',
  'scanPendingOldest',
  'scanDeadNewest',
  'scanDeadOldest',
  'scanKeyNewest',
  'scanKeyOldest',
  'scanAllNewest',
  'scanAllOldest',
])

/** Returns the statements. Each is prepared on this handle at its first use. */
export function prepareStatements(handle: SqliteHandle, tables: SqliteTables): PreparedStatements {
  const prepared = {}

  for (const [name, sql] of Object.entries(statementsFor(tables))) {
    Object.defineProperty(prepared, name, {
      configurable: true,
      get() {
        const statement = prepareStatement(handle, sql, readingRows.has(name) ? 'arrays' : 'objects')
        Object.defineProperty(prepared, name, { value: statement })
        return statement
      },
    })
  }
  return prepared as PreparedStatements
}
