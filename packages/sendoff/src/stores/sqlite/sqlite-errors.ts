/** Whether the statement failed because another connection holds a lock: worth trying again. */
export function isBusy(error: unknown): boolean {
  const { code, errcode } = failureOf(error)

  // The low byte is the primary result code: 5 is SQLITE_BUSY, 6 SQLITE_LOCKED.
  if (errcode !== undefined) return (errcode & 0xff) === 5 || (errcode & 0xff) === 6
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
}

/** Whether the statement failed because of a unique constraint other than the primary key. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = failureOf(error)
  return errcode === 2067 || code === 'SQLITE_CONSTRAINT_UNIQUE'
}

/** Whether the statement failed because the database may only be read. */
export function isReadOnly(error: unknown): boolean {
  const { code, errcode } = failureOf(error)
  return errcode === undefined ? code.startsWith('SQLITE_READONLY') : (errcode & 0xff) === 8
}

/** Whether the error is SQLite's own: node:sqlite gives it a number, better-sqlite3 a code. */
export function isDatabaseError(error: unknown): boolean {
  const { code, errcode } = failureOf(error)
  return errcode !== undefined || code.startsWith('SQLITE_')
}

/** Whether a table or a column does not exist, as before a migration. */
export function lacksSchema(error: unknown): boolean {
  return error instanceof Error && /no such (table|column)|has no column named/.test(error.message)
}

function failureOf(error: unknown): { code: string; errcode: number | undefined } {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  return {
    code: typeof code === 'string' ? code : '',
    errcode: typeof errcode === 'number' ? errcode : undefined,
  }
}
