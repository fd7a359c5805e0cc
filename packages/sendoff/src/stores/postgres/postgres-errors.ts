import { describeWithin } from '../../describe-error.ts'
import { OutboxError } from '../../errors.ts'

interface ServerError {
  readonly code: string
  readonly detail: string
}

// Codes of network faults (EPIPE) and of ORMs (P1017) may have five characters, too.
const isServerCode = /^(?:[0-9][0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/

/** Returns the error of the server, from anywhere in the chain of causes that a driver or ORM builds. */
export function serverErrorOf(error: unknown): ServerError | undefined {
  for (let cause = error, depth = 0; depth < 10 && typeof cause === 'object' && cause !== null; depth += 1) {
    const { code, detail, cause: next } = cause as { code?: unknown; detail?: unknown; cause?: unknown }
    if (typeof code === 'string' && isServerCode.test(code)) {
      return { code, detail: typeof detail === 'string' ? detail : '' }
    }
    cause = next
  }
  return undefined
}

/**
 * Whether the server undid the statement because of a conflict with another transaction: worth another try.
 */
export function isConflict(error: unknown): boolean {
  const code = serverErrorOf(error)?.code
  return code === '40001' || code === '40P01'
}

/** Whether the statement failed because an earlier one of the transaction did. */
export function isAborted(error: unknown): boolean {
  return serverErrorOf(error)?.code === '25P02'
}

/** Whether the statement waited for a lock longer than it may. */
export function isLockTimeout(error: unknown): boolean {
  return serverErrorOf(error)?.code === '55P03'
}

/** Whether the statement failed because it needs a transaction and none is open. */
export function needsTransaction(error: unknown): boolean {
  return serverErrorOf(error)?.code === '25P01'
}

/** Whether the server itself reported that it has undone the transaction. */
export function isCommitRefused(error: unknown): boolean {
  const code = serverErrorOf(error)?.code
  // 08 and 57P0x end the connection: the statement may have taken effect already.
  return code !== undefined && !code.startsWith('08') && !code.startsWith('57P0')
}

/** Whether the user may not write, or the server or transaction is read-only. */
export function isReadOnly(error: unknown): boolean {
  const code = serverErrorOf(error)?.code
  return code === '42501' || code === '25006'
}

/** Whether the server or the transaction is read-only. */
export function isReadOnlyTransaction(error: unknown): boolean {
  return serverErrorOf(error)?.code === '25006'
}

/** Whether the database user lacks a right. */
export function isNotPermitted(error: unknown): boolean {
  return serverErrorOf(error)?.code === '42501'
}

/** Whether a table or a column does not exist, as before a migration. */
export function lacksSchema(error: unknown): boolean {
  const code = serverErrorOf(error)?.code
  return code === '42P01' || code === '42703'
}

/**
 * Returns the error for a COMMIT that failed. Only if the server itself said so is the transaction certainly
 * undone.
 */
export function commitFailure(cause: unknown): unknown {
  if (isCommitRefused(cause)) return cause

  return new OutboxError(
    'OUTBOX_COMMIT_UNKNOWN',
    'The connection was lost before PostgreSQL confirmed the COMMIT, so that it is not known whether the ' +
      'transaction was kept. Look for its data before you repeat it, or write events with an idempotency key.',
    { cause },
  )
}

/**
 * Returns the error for a statement that the server refused because it may only read. `isStandby` is
 * undefined if the server did not say.
 */
export function readOnlyFailure(cause: unknown, isStandby: boolean | undefined): OutboxError {
  const advice = isStandby
    ? 'The server is a standby, also called a read replica, and accepts no writes. Connect the store to the primary. ' +
      'After a failover, let the address follow the primary.'
    : 'The transactions of this connection are read-only. Set default_transaction_read_only to off for its user, ' +
      'database and connection string, and connect the store to the primary.'
  return new OutboxError(
    'OUTBOX_READ_ONLY',
    `PostgreSQL refused a write: ${describeWithin(cause)}. ${advice}`,
    { cause },
  )
}

/**
 * Returns the error of a prepared statement. If the connection lacks the statement, or has one from another
 * client, a pooler has swapped the connection below its client.
 */
export function preparedFailure(cause: unknown): unknown {
  const code = serverErrorOf(cause)?.code
  if (code !== '26000' && code !== '42P05') return cause

  return new OutboxError(
    'OUTBOX_POOLED_CONNECTION',
    `PostgreSQL refused a prepared statement: ${describeWithin(cause)}. A pooler such as PgBouncer shares connections ` +
      'between transactions, and does not support prepared statements. Set "prepare: false" of postgresStore, use ' +
      'PgBouncer 1.21 or later with max_prepared_statements, or let the pooler keep a connection for each session.',
    { cause },
  )
}

/**
 * The error for postgres.js with prepared statements behind a pooler. It even prepares its COMMIT. If the
 * pooler has swapped the connection, the server aborts the transaction for lack of that statement.
 * postgres.js repeats the COMMIT, which then rolls back, and reports success.
 */
export function preparesBehindPooler(): OutboxError {
  return new OutboxError(
    'OUTBOX_POOLED_CONNECTION',
    'The connections of postgres.js go through a pooler such as PgBouncer, and postgres.js prepares its statements, ' +
      'even COMMIT: transactions may roll back and seem committed. Set "prepare: false" of postgres.js. If the pooler ' +
      'supports prepared statements (PgBouncer 1.21 or later with max_prepared_statements), or keeps a connection for ' +
      'each session, set "prepare: true" of postgresStore instead.',
  )
}

/** The error for a transaction that PostgreSQL rolled back instead of committing it. */
export function rolledBack(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_ROLLED_BACK',
    'PostgreSQL rolled the transaction back instead of committing it, because a statement in it had failed and ' +
      'the error was swallowed. Let errors of statements out of the callback, or run what may fail in a nested ' +
      'transaction.',
    { cause },
  )
}
