import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { silentLogger } from '../../src/observe/logger.ts'
import { CircuitBreaker, type CircuitBreakerOptions } from '../../src/process/circuit-breaker.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

function breakerOf(options: CircuitBreakerOptions = {}) {
  const clock = fakeClock()
  const states: string[] = []
  const breaker = new CircuitBreaker(options, {
    clock,
    logger: silentLogger,
    onState: (state) => states.push(state),
  })
  const call = (succeeded: boolean) => {
    if (!breaker.begin()) return false
    breaker.ended(succeeded)
    return true
  }
  return { breaker, clock, states, call }
}

describe('a circuit breaker', () => {
  it('opens when most calls fail, and not for a few', () => {
    const { breaker, call } = breakerOf({ minimumCalls: 4 })
    for (const succeeded of [false, true, false]) call(succeeded)
    equal(breaker.state, 'closed')
    call(false)
    equal(breaker.state, 'open')
    equal(call(true), false)
  })

  it('forgets calls that are older than its window', async () => {
    const { breaker, clock, call } = breakerOf({ minimumCalls: 4, windowMs: 1_000 })
    for (let n = 0; n < 3; n++) call(false)
    await clock.advance(1_001)
    for (const succeeded of [true, true, false]) call(succeeded)
    equal(breaker.state, 'closed')
  })

  it('tries again after a while, with as many calls as it is told to', async () => {
    const { breaker, clock, states, call } = breakerOf({ minimumCalls: 1, coolDownMs: 500, trialCalls: 2 })
    call(false)
    await clock.advance(499)
    equal(breaker.begin(), false)
    await clock.advance(1)
    equal(breaker.state, 'halfOpen')
    deepEqual([breaker.begin(), breaker.begin(), breaker.begin()], [true, true, false])
    breaker.ended(true)
    equal(breaker.state, 'halfOpen')
    breaker.ended(true)
    deepEqual(states, ['open', 'halfOpen', 'closed'])
  })

  it('opens again when a trial fails', async () => {
    const { clock, states, call } = breakerOf({ minimumCalls: 1, coolDownMs: 500 })
    call(false)
    await clock.advance(500)
    call(false)
    await clock.advance(499)
    equal(call(true), false)
    await clock.advance(1)
    equal(call(true), true)
    deepEqual(states, ['open', 'halfOpen', 'open', 'halfOpen', 'closed'])
  })

  it('never lets a call through while it is open, and always one some time later', async () => {
    const step = fc.record({ succeeded: fc.boolean(), waitMs: fc.integer({ min: 0, max: 700 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { breaker, clock, call } = breakerOf({ minimumCalls: 3, coolDownMs: 500, windowMs: 1_000 })
        for (const { succeeded, waitMs } of steps) {
          await clock.advance(waitMs)
          const { state } = breaker
          equal(call(succeeded), state !== 'open')
        }
        await clock.advance(500)
        equal(call(true), true)
        equal(breaker.state, 'closed')
      }),
      { numRuns: 40 },
    )
  })

  it('refuses options that make no sense', () => {
    throws(() => breakerOf({ failureRate: 2 }), /failureRate/)
    throws(() => breakerOf({ failures: 2 } as never), /failures/)
  })
})
