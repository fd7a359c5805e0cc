import { OutboxError } from '../../errors.ts'
import type { PartitionPeriod } from './time-partitions.ts'

/** The state of a schema in a database. */
export interface StoredSchema {
  /** 0 if no version is stored. */
  readonly version: number
  /** Names of tables and functions that are missing. */
  readonly missing: readonly string[]
}

/** Whether the stored schema is complete and current. */
export function isCurrent({ version, missing }: StoredSchema, newest: number): boolean {
  return version === newest && missing.length === 0
}

/** Throws if the schema is newer than this code. */
export function assertKnown(table: string, version: number, newest: number): void {
  if (version <= newest) return

  throw new OutboxError(
    'OUTBOX_SCHEMA_TOO_NEW',
    `The schema of table "${table}" has version ${version}, but this version of sendoff knows only ${newest}. ` +
      'Deploy the newer version of sendoff here as well.',
  )
}

/** Throws if `migrate` would have to change the schema. */
export function assertCurrent(table: string, stored: StoredSchema, newest: number): void {
  if (isCurrent(stored, newest)) return

  const { version, missing } = stored
  const state =
    missing.length > 0
      ? `${missing.length === 1 ? 'it lacks' : 'it lacks all of'} ${missing.join(', ')}`
      : `it has version ${version}, and this version of sendoff needs ${newest}`
  throw new OutboxError(
    'OUTBOX_SCHEMA_NOT_READY',
    `The schema of table "${table}" is not ready: ${state}. Call await store.migrate() or run the SQL of store.schemaSql(), ` +
      'as a database user that may create tables; then start again. Or leave the option "migrate: false" out.',
  )
}

/**
 * Throws if the table was made with another `partitionBy` than asked for. `store` is the function that was
 * called.
 */
export function assertSameParts(
  store: string,
  { table, meta, partitionBy }: PartitionedTable,
  stored: string | undefined,
): void {
  if (stored === undefined || stored === (partitionBy ?? 'none')) return

  const isDivided = stored !== 'none' && partitionBy !== undefined
  const made = stored === 'none' ? 'without the option partitionBy' : `with partitionBy: '${stored}'`
  const advice = isDivided
    ? `Give all stores on it partitionBy: '${stored}'. Or let sendoff make only its next partitions by ${partitionBy}, ` +
      `and keep the existing ones: update ${meta} set value = '${partitionBy}' where value = '${stored}'.`
    : 'That cannot be changed. Give all stores on it the same option, or another table.'
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The table "${table}" was made ${made} of ${store}. ${advice}`,
  )
}

interface PartitionedTable {
  readonly table: string
  /** The name as written in SQL. */
  readonly meta: string
  readonly partitionBy: PartitionPeriod | undefined
}
