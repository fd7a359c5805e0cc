import { OutboxError } from '../../errors.ts'
import type { MissingPart } from '../schema-revision.ts'

/** The table of events if the options name none. */
export const defaultTable = 'outbox_event'

const tableNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,47}$/

/**
 * Returns `name` if SQL can contain it as it is. The limit leaves room for the longest suffix of the store's
 * other tables, within the 63 characters that PostgreSQL allows.
 */
export function checkedTableName(name: unknown): string {
  if (typeof name === 'string' && tableNamePattern.test(name)) return name

  throw new OutboxError(
    'OUTBOX_INVALID_TABLE_NAME',
    `The table name ${JSON.stringify(name) ?? String(name)} cannot be used. ` +
      'Choose one of up to 48 letters, digits and underscores that does not start with a digit.',
  )
}

/** The tables of a store, as written in SQL. */
export interface SqlTables {
  readonly events: string
  readonly meta: string
  readonly lock: string
  readonly node: string
  readonly partition: string
  readonly idempotency: string
  readonly attempt: string
  readonly control: string
  readonly audit: string
  readonly inbox: string
  readonly stat: string
  readonly auditEvent: string
}

/** Returns the tables of a store. `named` makes a name from the ending of each. */
export function sqlTables(named: (ending: string) => string): SqlTables {
  return {
    events: named(''),
    meta: named('_meta'),
    lock: named('_lock'),
    node: named('_node'),
    partition: named('_partition'),
    idempotency: named('_idempotency'),
    attempt: named('_attempt'),
    control: named('_control'),
    audit: named('_audit'),
    inbox: named('_inbox'),
    stat: named('_stat'),
    auditEvent: named('_audit_event'),
  }
}

// The tables that came after the first schema, with their revisions.
const laterTables: Partial<Record<keyof SqlTables, number>> = { stat: 2, auditEvent: 2 }

/** The plain names of a store's tables, with the revision that brings each. */
export function tableNames(table: string): readonly MissingPart[] {
  const names = Object.entries<string>({ ...sqlTables((ending) => `${table}${ending}`) })
  return names.map(([key, name]) => ({ name, revision: laterTables[key as keyof SqlTables] ?? 1 }))
}
