/**
 * A database handle, as far as the store uses it: a `DatabaseSync` of `node:sqlite`, a `Database` of
 * better-sqlite3, or similar.
 */
export interface SqliteHandle {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
  /** Whether a transaction is open, in `node:sqlite` (from Node 22.16). */
  readonly isTransaction?: boolean
  /** Whether a transaction is open, in better-sqlite3. */
  readonly inTransaction?: boolean
}

/** The part of a prepared statement that the store uses. */
export interface SqliteStatement {
  run(...parameters: SqliteValue[]): {
    readonly changes: number | bigint
    readonly lastInsertRowid: number | bigint
  }
  get(...parameters: SqliteValue[]): unknown
  all(...parameters: SqliteValue[]): unknown[]
}

/** A value that a statement takes as a parameter. */
export type SqliteValue = null | number | string | Uint8Array

/**
 * Prepares a statement that returns numbers, in objects or arrays as requested, whatever the settings of the
 * handle are. Before Node 22.16 `node:sqlite` returns objects only.
 */
export function prepareStatement(
  handle: SqliteHandle,
  sql: string,
  answers: 'objects' | 'arrays' = 'objects',
): SqliteStatement {
  const statement: SqliteStatement & AnswerSettings = handle.prepare(sql)

  statement.setReadBigInts?.(false)
  statement.safeIntegers?.(false)
  statement.setReturnArrays?.(answers === 'arrays')
  if (answers === 'arrays') statement.raw?.(true)
  return statement
}

/** The methods that set the form of results: two for each driver. */
interface AnswerSettings {
  setReadBigInts?(enabled: boolean): unknown
  setReturnArrays?(enabled: boolean): unknown
  safeIntegers?(enabled: boolean): unknown
  raw?(enabled: boolean): unknown
}

/** Whether a transaction is open on `handle`. */
export function hasOpenTransaction(handle: SqliteHandle): boolean {
  const told = handle.isTransaction ?? handle.inTransaction
  if (told !== undefined) return told

  // Before Node 22.16 `node:sqlite` does not say. A deferred BEGIN takes no lock, so it can fail for one
  // reason only: a transaction is open already.
  try {
    handle.exec('begin')
  } catch {
    return true
  }
  handle.exec('rollback')
  return false
}

/** Whether the handle was closed. node:sqlite says so by `isOpen`, better-sqlite3 by `open`. */
export function isClosed(handle: SqliteHandle): boolean {
  const { isOpen, open } = handle as { isOpen?: unknown; open?: unknown }
  return isOpen === false || open === false
}
