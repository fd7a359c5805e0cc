import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { filterOf, readTime } from '../../src/commands/event-filter.ts'

const now = new Date(2026, 2, 1, 14, 30).getTime()

describe('the filter of a command', () => {
  it('reads times ago, of the day, and dates', () => {
    equal(readTime('--since', '90s', now), now - 90_000)
    equal(readTime('--since', '15m', now), now - 900_000)
    equal(readTime('--since', '1.5h', now), now - 5_400_000)
    equal(readTime('--since', '3d', now), now - 259_200_000)
    equal(readTime('--since', '02:00', now), new Date(2026, 2, 1, 2, 0).getTime())
    equal(readTime('--since', '23:15', now), new Date(2026, 1, 28, 23, 15).getTime())
    equal(readTime('--since', '2026-02-01', now), new Date(2026, 1, 1).getTime())
    equal(readTime('--since', '2026-02-01T10:00:00Z', now), Date.UTC(2026, 1, 1, 10))
    for (const text of ['', 'now', '25:00', '12:60', '-1h', '1w', '2026-13-01', '5']) {
      throws(() => readTime('--since', text, now), /is no time/, text)
    }
  })

  it('takes several states, and an aggregate with or without an id', () => {
    const { status, aggregateType, aggregateId } = filterOf(
      { status: 'new, dead', aggregate: 'Order/o/1' },
      now,
    )
    deepEqual([status, aggregateType, aggregateId], [['NEW', 'DEAD'], 'Order', 'o/1'])
    equal(filterOf({ aggregate: 'Order' }, now).aggregateId, undefined)
  })
})
