import type { MysqlTables } from '../schema/mysql-tables.ts'
import { actionStatementsFor } from './action-statements.ts'
import { inboxStatementsFor } from './inbox-statements.ts'
import { insertStatementsFor } from './insert-statements.ts'
import { keyStatementsFor } from './key-statements.ts'
import { laneStatementsFor } from './lane-statements.ts'
import { lockStatementsFor } from './lock-statements.ts'
import { lookStatementsFor } from './look-statements.ts'
import { partitionOfRow, partitionStatementsFor } from './partition-statements.ts'
import { lockingRead } from './locking-read.ts'
import { inMs, rowColumns } from './row-columns.ts'
import type { DueOptions } from './row-conditions.ts'
import { due, dueIndex, freeRow, pending, timeIn, wholeNow } from './row-conditions.ts'
import { reportStatementsFor } from './report-statements.ts'
import { upkeepStatementsFor } from './upkeep-statements.ts'

/**
 * Every statement of the store, for checked names. `rows` are conditions that name rows by their `seq`, and
 * `rowIds` by event id and destination. Limits are in the text, since prepared statements take no parameters
 * for them.
 *
 * Statements that lock name their index. While a table is small, the optimizer would rather read all of it.
 * It would then wait for every row that another transaction has added and not committed yet.
 */
export function statementsFor(tables: MysqlTables) {
  const { events, attempt } = tables

  return {
    // due, freeRow. By the index `due` or `destination`. Returns a row if a claim would find anything.
    // Locks nothing.
    anyDue: (options: DueOptions) => `
  select 1
    from ${events} as event force index (${dueIndex(options)})
   where ${due(options)}
     and ${freeRow(tables, options)}
   limit 1`,

    // due, freeRow. Reads the index `due` or `destination` in its order: no sort, no DONE row touched. The
    // statement names the index, because the optimizer would choose by its guess of how many rows are free.
    // SKIP LOCKED lets many claim at once without waiting for one another.
    claim: (options: DueOptions, limit: number) =>
      lockingRead({
        columns: rowColumns,
        table: `${events} as event`,
        index: dueIndex(options),
        key: 'event.seq',
        where: `${due(options)}
     and ${freeRow(tables, options)}`,
        order: 'due_at, seq',
        limit,
      }),

    // due. Returns where a window of this many due rows ends. By the index `due` or
    // `destination` alone. Locks nothing.
    windowEnd: (options: DueOptions, window: number) => `
  select ${inMs('due_at')}, seq
    from ${events} as event force index (${dueIndex(options)})
   where ${due(options)}
   order by due_at, seq
   limit ${window - 1}, 1`,

    // rowIds, due, freeRow. By the index `event`. Includes rows that the claimer holds already.
    claimKeys: (rowIds: string, options: DueOptions, limit: number) =>
      lockingRead({
        columns: rowColumns,
        table: `${events} as event`,
        index: 'event',
        key: 'event.seq',
        where: `${rowIds}
     and ${due(options)}
     and ${freeRow(tables, { ...options, exceptHolder: true })}`,
        order: 'due_at, seq',
        limit,
      }),

    // rowIds, due, freeRow. By the index `event`. Returns a row if a claim has skipped rows that another
    // transaction locks. Locks nothing.
    anyKeys: (rowIds: string, options: DueOptions) => `
  select 1
    from ${events} as event force index (event)
   where ${rowIds}
     and ${due(options)}
     and ${freeRow(tables, { ...options, exceptHolder: true })}
   limit 1`,

    // ? holder, timeIn. By primary key, for rows that one of the above has locked. No indexed column changes.
    // MySQL assigns from left to right: losses are counted before the holder changes.
    lease: (rows: string) => `
  update ${events} force index (primary)
     set losses       = losses + if(locked_by is null, 0, 1),
         locked_by    = ?,
         locked_until = ${timeIn},
         deliveries   = deliveries + 1
   where ${rows}`,

    // As lease, ? holder before `timeIn` once more: rows that the claimer holds already count no loss.
    leaseKeys: (rows: string) => `
  update ${events} force index (primary)
     set losses       = losses + if(locked_by <> ?, 1, 0),
         locked_by    = ?,
         locked_until = ${timeIn},
         deliveries   = deliveries + 1
   where ${rows}`,

    // timeIn, held.
    renew: (rows: string, fences: string) => changed(`locked_until = ${timeIn}`, rows, fences),

    // held.
    release: (rows: string, fences: string) => changed('locked_by = null, locked_until = null', rows, fences),

    // held. For rows that an owner held without a lease, with null for the holder.
    countLossesOfHeld: (rows: string, fences: string) =>
      changed('losses = losses + 1, deliveries = deliveries + 1', rows, fences),

    // held.
    settleDone: (rows: string, fences: string) => changed(doneColumns, rows, fences),

    // held. With an order and a limit, as deleteRows.
    settleDelete: (rows: string, fences: string, count: number) => `
  delete from ${events} where ${held(rows, fences)} order by seq limit ${count}`,

    // held. Returns which rows are still held.
    held: (rows: string, fences: string) => `
  select seq from ${events} force index (primary) where ${held(rows, fences)}`,

    // No parameters. By primary key, in its order, so that two transactions never wait for each other in a
    // circle.
    lockRows: (rows: string) => `
  select seq, deliveries, locked_by, attempts, ${partitionOfRow}
    from ${events} force index (primary)
   where ${rows}
     and ${pending}
   order by seq
     for update`,

    // The parameters of `changes`. By primary key, for rows that are locked, and settled alike.
    settle: (changes: string, rows: string) => `
  update ${events} force index (primary)
     set ${changes},
         deliveries = deliveries + 1, losses = 0, locked_by = null, locked_until = null
   where ${rows}`,

    // ? event id, ? destination, ? attempts, ? error, ? holder for each.
    addAttempts: (rows: string) => `
  insert into ${attempt} (event_id, destination, attempts, failed_at, error, locked_by)
  values ${rows}`,

    // No parameters. By primary key. The order and the limit make the server use it, because DELETE cannot
    // name an index.
    deleteRows: (rows: string, count: number) => `
  delete from ${events} where ${rows} order by seq limit ${count}`,

    // rowIds. By the index `event` of the history.
    deleteAttempts: (rowIds: string) => `
  delete from ${attempt} using ${attempt} force index (event) where ${rowIds}`,

    ...actionStatementsFor(tables),
    ...lookStatementsFor(tables),
    ...insertStatementsFor(tables),
    ...inboxStatementsFor(tables),
    ...keyStatementsFor(tables),
    ...laneStatementsFor(tables),
    ...lockStatementsFor(tables),
    ...partitionStatementsFor(tables),
    ...upkeepStatementsFor(tables),
    ...reportStatementsFor(tables),
  } as const

  // held. By primary key.
  function changed(columns: string, rows: string, fences: string): string {
    return `
  update ${events} force index (primary)
     set ${columns}
   where ${held(rows, fences)}`
  }

  // The rows that ? holder still holds unchanged: `fences` are pairs of `seq` and deliveries. Every version
  // of either server can search the primary key for the numbers alone.
  function held(rows: string, fences: string): string {
    return `${rows}
     and ${fences}
     and locked_by <=> ?
     and ${pending}`
  }
}

/** One row of `addAttempts`. */
export const attemptRow = `(?, ?, ?, ${wholeNow}, ?, ?)`

const doneColumns = `status = 1, done_at = ${wholeNow}, last_error = null, blocked_at = null, deliveries = deliveries + 1, losses = 0,
         locked_by = null, locked_until = null`

/** The statements of a store, by name. */
export type MysqlStatements = ReturnType<typeof statementsFor>
