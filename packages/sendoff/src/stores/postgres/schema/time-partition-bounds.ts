import type { TimePartition } from '../../sql/time-partitions.ts'
import { ulidStart, ulidTime } from '../../sql/ulid-time.ts'

/** As PostgreSQL describes it: `FOR VALUES FROM ('…') TO ('…')`. Undefined for what is no range of ULIDs. */
export function partitionFromBounds(bounds: string): TimePartition | undefined {
  const [, from, to] = /FROM \('([0-9A-Z]{10})'\) TO \('([0-9A-Z]{10})'\)/.exec(bounds) ?? []
  return from === undefined || to === undefined ? undefined : { start: ulidTime(from), end: ulidTime(to) }
}

export function boundsOfPartition({ start, end }: TimePartition): string {
  return `for values from ('${ulidStart(start)}') to ('${ulidStart(end)}')`
}
