/** The length of the period that one partition of the table covers. */
export type PartitionPeriod = 'day' | 'week' | 'month'

/** A part of the table: the events whose ids begin with a time from `start` to before `end`. */
export interface TimePartition {
  readonly start: number
  readonly end: number
}

/** How many periods after the current one always have their partition. */
const periodsAhead = 3

/**
 * Returns the partitions that are missing for the current period and the next ones, after the existing ones.
 */
export function missingPartitions(
  existing: readonly TimePartition[],
  period: PartitionPeriod,
  now: number,
): readonly TimePartition[] {
  const horizon = periodsFrom(now, period, 1 + periodsAhead)
  const missing: TimePartition[] = []
  // The existing ones may have other periods: the next one begins where the last one ends.
  let start = Math.max(startOf(now, period), ...existing.map(({ end }) => end))
  while (start < horizon) {
    const end = periodsFrom(start, period, 1)
    missing.push({ start, end })
    start = end
  }
  return missing
}

/**
 * Returns a warning for operators if this database user may not create the missing partitions. Returns
 * nothing while partitions exist for more than the current period.
 */
export function warningOfMissing(
  table: string,
  existing: readonly TimePartition[],
  period: PartitionPeriod,
  now: number,
): readonly string[] {
  const end = Math.max(0, ...existing.map((partition) => partition.end))
  if (end >= periodsFrom(now, period, 2)) return []

  const until = end > now ? `end at ${new Date(end).toISOString()}` : 'have ended'
  return [
    `The time partitions of table "${table}" ${until}, and this database user may not make new ones. Have its owner call ` +
      `await store.migrate() at least once a ${period}. Later events are kept, but in one partition that no purge can drop.`,
  ]
}

/** Returns the day on which a partition begins, as in `20260131`. */
export function partitionSuffix({ start }: TimePartition): string {
  return new Date(start).toISOString().slice(0, 10).replaceAll('-', '')
}

const dayMs = 86_400_000

function startOf(time: number, period: PartitionPeriod): number {
  return periodsFrom(time, period, 0)
}

// In UTC. Weeks begin on Monday, as the fourth day of the epoch did.
function periodsFrom(time: number, period: PartitionPeriod, count: number): number {
  const date = new Date(time)
  switch (period) {
    case 'day':
      return (Math.floor(time / dayMs) + count) * dayMs
    case 'week':
      return (Math.floor((time / dayMs - 4) / 7) + count) * 7 * dayMs + 4 * dayMs
    case 'month':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count)
  }
}
