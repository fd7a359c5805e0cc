import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missingPartitions, type PartitionPeriod } from '../../../src/stores/sql/time-partitions.ts'

const dayMs = 86_400_000

describe('time partitions', () => {
  it('begin and end with days, weeks from Monday, and months, in UTC', () => {
    const now = Date.UTC(2026, 0, 31, 23, 59)
    const starts = (period: PartitionPeriod) =>
      missingPartitions([], period, now).map(({ start }) => new Date(start).toISOString().slice(0, 10))

    deepEqual(starts('day'), ['2026-01-31', '2026-02-01', '2026-02-02', '2026-02-03'])
    deepEqual(starts('week'), ['2026-01-26', '2026-02-02', '2026-02-09', '2026-02-16'])
    deepEqual(starts('month'), ['2026-01-01', '2026-02-01', '2026-03-01', '2026-04-01'])
  })

  it('follow on those there are, also when the period was changed', () => {
    const now = Date.UTC(2026, 0, 15)
    const days = missingPartitions([], 'day', now)
    deepEqual(missingPartitions(days, 'day', now), [])
    const [first, ...rest] = missingPartitions(days, 'month', now)

    equal(first!.start, days.at(-1)!.end)
    equal(first!.end, Date.UTC(2026, 1, 1))
    equal(rest.length, 3)
    equal(
      missingPartitions([...days, first!, ...rest], 'month', now + 31 * dayMs)[0]!.start,
      rest.at(-1)!.end,
    )
  })
})
