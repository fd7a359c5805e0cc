import { hash } from 'node:crypto'
import type { PostgresTables } from '../schema/postgres-tables.ts'

/**
 * Returns the number of the advisory lock of an ordering key, as SQL.
 *
 * The write function uses the same numbers, so they are part of a published migration. A writer that used
 * other numbers would lock nothing. Each table, and each of the two kinds, has its own numbers, as far as 64
 * bits allow.
 */
export function keyLock(tables: PostgresTables, key: string): string {
  return `hashtextextended(${key}, ${seedOf(tables, 'key')})`
}

/** The same for a partition. */
export function partitionLock(tables: PostgresTables, partition: string): string {
  return `hashtextextended((${partition})::text, ${seedOf(tables, 'partition')})`
}

/** The same for writers that keep all rows in one order. */
export function allKeysLock(tables: PostgresTables): string {
  return `hashtextextended('all', ${seedOf(tables, 'partition')})`
}

// The seed is not negative: a negative number would need brackets in SQL.
function seedOf({ schema, table }: PostgresTables, kind: string): string {
  const digest = hash('sha256', `sendoff ${kind} ${schema}.${table}`, 'buffer')
  return String(digest.readBigUInt64BE() >> 1n)
}
