import { OutboxError } from '../../errors.ts'

interface ServerError {
  readonly code: string
  readonly detail: string
}

// Faults of the network (EPIPE) and of ORMs (P1017) may have five characters as well.
const isServerCode = /^(?:[0-9][0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/

/** What the server said, wherever in the chain of causes a driver or ORM has put it. */
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

/** Whether the statement was undone because of what others did meanwhile: worth another try. */
export function isConflict(error: unknown): boolean {
  const code = serverErrorOf(error)?.code
  return code === '40001' || code === '40P01'
}

/** Whether statements fail because an earlier one of the transaction did. */
export function isAborted(error: unknown): boolean {
  return serverErrorOf(error)?.code === '25P02'
}

/** Whether the statement failed because it needs a transaction and there is none. */
export function needsTransaction(error: unknown): boolean {
  return serverErrorOf(error)?.code === '25P01'
}

/** Whether the server itself said that it has undone the transaction. */
export function isCommitRefused(error: unknown): boolean {
  const code = serverErrorOf(error)?.code
  // 08 and 57P0x end the connection: what they interrupted may be done already.
  return code !== undefined && !code.startsWith('08') && !code.startsWith('57P0')
}

/** Whether the database user lacks a right. */
export function isNotPermitted(error: unknown): boolean {
  return serverErrorOf(error)?.code === '42501'
}

/** What came of a COMMIT that failed: undone for certain where the server itself said so. */
export function commitFailure(cause: unknown): unknown {
  if (isCommitRefused(cause)) return cause

  return new OutboxError(
    'OUTBOX_COMMIT_UNKNOWN',
    'The connection was lost before PostgreSQL had answered the COMMIT, so that it is not known whether the ' +
      'transaction was kept. Look for its data before you repeat it, or write events with an idempotency key.',
    { cause },
  )
}

/** A transaction that PostgreSQL rolled back although it was told to commit. */
export function rolledBack(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_ROLLED_BACK',
    'PostgreSQL rolled the transaction back instead of committing it, because a statement in it had failed and ' +
      'the error was swallowed. Let errors of statements out of the callback, or run what may fail in a nested ' +
      'transaction.',
    { cause },
  )
}
