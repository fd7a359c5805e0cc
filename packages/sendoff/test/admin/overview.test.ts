import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tallyCounts } from '../../src/admin/overview.ts'

describe('the counts of an overview', () => {
  it('have an estimate of DONE events, even if none is among the newest', () => {
    const pending = { status: 0, eventType: 'Placed', destination: '', count: 10_000 } as const
    const { DONE, PENDING, NEW } = tallyCounts({
      at: 0,
      pending: { groups: [pending], total: 20_000, isExact: false },
      dead: { groups: [], total: 50, isExact: true },
      all: { groups: [pending], total: 5_000_000, isExact: false },
      blocked: 0,
      parked: [],
      oldestDue: undefined,
    })
    deepEqual(
      [DONE, PENDING, NEW],
      [
        { count: 4_979_950, isExact: false },
        { count: 20_000, isExact: false },
        { count: 20_000, isExact: false },
      ],
    )
  })
})
