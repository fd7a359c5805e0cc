import type { SqliteTables } from './sqlite-tables.ts'

/** The index of revision 3: marks of the inbox by time, so that a purge finds the oldest of a consumer. */
export function thirdIndexes({ table, inbox }: SqliteTables): string {
  return `create index if not exists "${table}_inbox_at" on ${inbox} (consumer, received_at);\n`
}
