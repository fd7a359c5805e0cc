import type { Conditions } from '../../store-bench.ts'

/** Prefix of the names of databases that all measurements of a run share. */
export const sharedPrefix = 'shared-'

/** Returns the name of a database of this run on its server. */
export function databaseName(name: string, { run }: Conditions): string {
  return `sendoff_bench_${run}_${name.replaceAll('-', '_')}`
}

/** Returns whether a database of a run is dropped before a new one is created: all but shared ones. */
export function isPassing(database: string, conditions: Conditions): boolean {
  return !database.startsWith(databaseName(sharedPrefix, conditions))
}
