import { equal, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { exponentialBackoff } from '../../src/retry/exponential-backoff.ts'

describe('exponential backoff', () => {
  it('doubles from 200 ms to 60 s', () => {
    const policy = exponentialBackoff({ random: () => 0.5 })
    const delays = [1, 2, 3, 4, 10, 30, 2_000].map((attempts) => policy.computeDelayMs(attempts))
    equal(delays.join(), '200,400,800,1600,60000,60000,60000')
  })

  it('stays between half and one and a half of its step, and within the maximum unless told otherwise', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 100_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempts, baseDelayMs, maxDelayMs, drawn) => {
          const step = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempts - 1))
          const options = { baseDelayMs, maxDelayMs, random: () => drawn }
          const free = exponentialBackoff({ ...options, clampJitter: false }).computeDelayMs(attempts)
          ok(free >= Math.floor(step * 0.5) && free <= Math.ceil(step * 1.5))
          equal(exponentialBackoff(options).computeDelayMs(attempts), Math.min(maxDelayMs, free))
        },
      ),
    )
  })

  it('judges an error by its class and those of its causes', () => {
    class Declined extends Error {}
    const wrapped = new Error('charging failed', { cause: new Error('gateway', { cause: new Declined() }) })
    equal(exponentialBackoff({ noRetryOn: [Declined] }).shouldRetry!(wrapped), false)
    equal(exponentialBackoff({ noRetryOn: [Declined] }).shouldRetry!(new Error('other')), true)
    equal(exponentialBackoff({ retryOn: [Declined] }).shouldRetry!(wrapped), true)
    equal(exponentialBackoff({ retryOn: [Declined] }).shouldRetry!(new Error('other')), false)
    equal(exponentialBackoff({ retryOn: [Error], noRetryOn: [Declined] }).shouldRetry!(wrapped), false)
    const loop = new Error('loop')
    loop.cause = loop
    equal(exponentialBackoff({ noRetryOn: [Declined] }).shouldRetry!(loop), true)
  })

  it('refuses options that do not fit', () => {
    throws(() => exponentialBackoff({ baseDelayMs: 0 }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => exponentialBackoff({ delay: 5 } as object), { code: 'OUTBOX_UNKNOWN_OPTION' })
  })
})
