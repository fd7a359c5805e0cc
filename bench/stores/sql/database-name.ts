import type { Conditions } from '../../store-bench.ts'

/** How the names of databases begin that are there for all measurements of a run. */
export const sharedPrefix = 'shared-'

/** What a database of this run is called on its server. */
export function databaseName(name: string, { run }: Conditions): string {
  return `sendoff_bench_${run}_${name.replaceAll('-', '_')}`
}

/** Which of a run's databases to drop before a new one is made: all but those that are shared. */
export function isPassing(database: string, conditions: Conditions): boolean {
  return !database.startsWith(databaseName(sharedPrefix, conditions))
}
