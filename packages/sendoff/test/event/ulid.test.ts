import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { monotonicUlids } from '../../src/event/ulid.ts'

describe('identifiers', () => {
  it('rise even if the clock is set back', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 2 ** 48 - 2 }), { minLength: 2, maxLength: 50 }),
        (times) => {
          let index = 0
          const next = monotonicUlids(() => times[index++ % times.length]!)
          const ids = times.map(next)
          deepEqual(ids, [...ids].sort())
          equal(new Set(ids).size, ids.length)
          ids.forEach((id) => match(id, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/))
        },
      ),
    )
  })

  it('begin with the time', () => {
    equal(monotonicUlids(() => 1469918176385)().slice(0, 10), '01ARYZ6S41')
  })

  it('are unique, also for a hundred thousand in one millisecond', () => {
    const next = monotonicUlids(() => 1)
    equal(new Set(Array.from({ length: 100_000 }, next)).size, 100_000)
  })
})
