import { hash } from 'node:crypto'
import type { PostgresTables } from '../schema/postgres-tables.ts'

/**
 * The number of the advisory lock of an ordering key, as SQL. Numbers are part of the function that writes, and
 * so of a published migration: a writer that locks others locks nothing. Each table, and each of the two
 * kinds, has numbers of its own, as far as 64 bits allow.
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

// A negative number would stand in brackets.
function seedOf({ schema, table }: PostgresTables, kind: string): string {
  const digest = hash('sha256', `sendoff ${kind} ${schema}.${table}`, 'buffer')
  return String(digest.readBigUInt64BE() >> 1n)
}
