import type { PostgresTables } from './postgres-tables.ts'
import { routedWriteFunction } from './write-function.ts'

/**
 * The schema of destinations. The tables have had all columns for them from the beginning; only the function
 * that writes events learns to follow the routing.
 */
export function fourthSchema(tables: PostgresTables): readonly string[] {
  return routedWriteFunction(tables)
}
