import { OutboxError } from '../../errors.ts'

interface ServerError {
  readonly errno: number
  readonly message: string
}

/** Returns the error of the server, from anywhere in the chain of causes that a driver or ORM builds. */
export function serverErrorOf(error: unknown): ServerError | undefined {
  for (let cause = error, depth = 0; depth < 10 && typeof cause === 'object' && cause !== null; depth += 1) {
    const { errno, message, sqlMessage, cause: next } = cause as Record<string, unknown>
    // Network faults have negative numbers; faults of drivers have far higher ones.
    if (typeof errno === 'number' && errno >= 1_000 && errno < 45_000) {
      return { errno, message: String(sqlMessage ?? message) }
    }
    cause = next
  }
  return undefined
}

/** Whether the server has undone the whole transaction because of a deadlock. */
export function isDeadlock(error: unknown): boolean {
  return serverErrorOf(error)?.errno === 1213
}

/** Whether the server undid the work because of a conflict with another transaction: worth another try. */
export function isConflict(error: unknown): boolean {
  const errno = serverErrorOf(error)?.errno
  return errno === 1213 || errno === 1205
}

/**
 * Whether the server undid the whole transaction because of another one: a deadlock, or a row that has
 * changed since the transaction read it.
 */
export function isTransactionConflict(error: unknown): boolean {
  const errno = serverErrorOf(error)?.errno
  return errno === 1213 || errno === 1020
}

/** Whether the statement waited for a lock longer than it may. It is undone, and not the transaction. */
export function isLockTimeout(error: unknown): boolean {
  return serverErrorOf(error)?.errno === 1205
}

/** Whether the savepoint does not exist, or no transaction is open. */
export function isUnknownSavepoint(error: unknown): boolean {
  return serverErrorOf(error)?.errno === 1305
}

/** Whether a unique index has the value already. */
export function isDuplicate(error: unknown): boolean {
  return serverErrorOf(error)?.errno === 1062
}

/** Whether an insert of events found no open transaction. */
export function isOutsideTransaction(error: unknown): boolean {
  return serverErrorOf(error)?.errno === 1690
}

/** Whether the table does not exist. */
export function isUnknownTable(error: unknown): boolean {
  return serverErrorOf(error)?.errno === 1146
}

/** Whether a table, a column or an index does not exist, as before a migration. */
export function lacksSchema(error: unknown): boolean {
  const errno = serverErrorOf(error)?.errno
  return errno === 1146 || errno === 1054 || errno === 1176
}

/** Whether the user may not write, or the server or transaction is read-only. */
export function isWriteRefused(error: unknown): boolean {
  const errno = serverErrorOf(error)?.errno
  return errno !== undefined && (errno === 1142 || errno === 1143 || readOnly.has(errno))
}

/** Whether the database user lacks a right. */
export function isNotPermitted(error: unknown): boolean {
  const errno = serverErrorOf(error)?.errno
  return errno === 1044 || errno === 1142
}

// Refusals to commit: a deadlock with another node, a group that voted against it, a server that has
// become read-only.
const refusals = new Set([1213, 1290, 1792, 1836, 3100, 3101])

/** Whether the server itself reported that it has undone the transaction. */
export function isCommitRefused(error: unknown): boolean {
  return refusals.has(serverErrorOf(error)?.errno ?? 0)
}

/**
 * Returns the error for a COMMIT that failed. Only if the server itself said so is the transaction certainly
 * undone.
 */
export function commitFailure(cause: unknown): unknown {
  if (isCommitRefused(cause)) return cause

  return new OutboxError(
    'OUTBOX_COMMIT_UNKNOWN',
    'The connection was lost before the server confirmed the COMMIT, so that it is not known whether the ' +
      'transaction was kept. Look for its data before you repeat it, or write events with an idempotency key.',
    { cause },
  )
}

/** The error for a transaction that the server has undone as a whole while its callback continued. */
export function rolledBack(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_ROLLED_BACK',
    'The server rolled the whole transaction back, because a statement in it failed (as by a deadlock), and the ' +
      'error was swallowed. Nothing that comes after it would be part of the transaction. Let errors of statements ' +
      'out of the callback, and repeat the transaction.',
    { cause },
  )
}

/** The error for a transaction that has ended on the server unseen. */
export function noLongerOpen(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'The transaction of this write is no longer open on the server, and what comes now would be kept by itself. ' +
      'After a deadlock the server has undone the whole transaction; COMMIT, ROLLBACK and changes of the schema end ' +
      'it, too. Let errors of statements out of the callback, and repeat the transaction.',
    { cause },
  )
}

// ER_OPTION_PREVENTS_STATEMENT, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION and ER_READ_ONLY_MODE.
const readOnly = new Set([1290, 1792, 1836])

/** Whether the server is read-only, such as after a failover: the connection leads to the wrong server. */
export function isReadOnly(error: unknown): boolean {
  return readOnly.has((error as { readonly errno?: number }).errno ?? 0)
}
