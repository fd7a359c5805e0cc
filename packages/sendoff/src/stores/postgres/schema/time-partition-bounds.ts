import type { TimePartition } from '../../sql/time-partitions.ts'
import { ulidStart, ulidTime } from '../../sql/ulid-time.ts'

/**
 * Reads the bounds of a time partition as PostgreSQL describes them: `FOR VALUES FROM ('…') TO ('…')`.
 * Returns undefined unless they are ULIDs.
 */
export function timePartitionFromBounds(bounds: string): TimePartition | undefined {
  const [, from, to] = /FROM \('([0-9A-Z]{10})'\) TO \('([0-9A-Z]{10})'\)/.exec(bounds) ?? []
  return from === undefined || to === undefined ? undefined : { start: ulidTime(from), end: ulidTime(to) }
}

/** Returns the bounds of a time partition, as written in SQL. */
export function boundsOfTimePartition({ start, end }: TimePartition): string {
  return `for values from ('${ulidStart(start)}') to ('${ulidStart(end)}')`
}
