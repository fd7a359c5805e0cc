import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { linearBackoff } from '../../src/retry/linear-backoff.ts'
import { retrySchedule } from '../../src/retry/retry-schedule.ts'

describe('linear backoff', () => {
  it('adds a step after every failure, up to the maximum', () => {
    const policy = linearBackoff({ baseDelayMs: 100, stepMs: 50, maxDelayMs: 230 })
    deepEqual(
      [1, 2, 3, 4, 99].map((attempts) => policy.computeDelayMs(attempts)),
      [100, 150, 200, 230, 230],
    )
    equal(linearBackoff().computeDelayMs(1), 2_000)
    equal(linearBackoff().computeDelayMs(1_000), 60_000)
  })

  it('stays within its jitter, and never below 0', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 0, max: 5_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempts, jitterMs, drawn) => {
          const plain = linearBackoff().computeDelayMs(attempts)
          const delay = linearBackoff({ jitterMs, random: () => drawn }).computeDelayMs(attempts)
          ok(delay >= Math.max(0, plain - jitterMs - 1) && delay <= plain + jitterMs + 1)
        },
      ),
    )
  })
})

describe('a fixed delay', () => {
  it('is the same after every failure', () => {
    deepEqual(
      [1, 2, 50].map((attempts) => fixedDelay(70).computeDelayMs(attempts)),
      [70, 70, 70],
    )
    equal(fixedDelay(70, { maxAttempts: 3 }).maxAttempts, 3)
    throws(() => fixedDelay(5, { stepMs: 5 } as object), {
      code: 'OUTBOX_UNKNOWN_OPTION',
      message: /fixedDelay/,
    })
    throws(() => fixedDelay(0), { code: 'OUTBOX_INVALID_OPTION', message: /delayMs.*fixedDelay/ })
  })
})

describe('a schedule', () => {
  it('waits as listed and ends with its list', () => {
    const minute = 60_000
    const policy = retrySchedule([1, 5, 15, 60, 240].map((minutes) => minutes * minute))
    equal(policy.maxAttempts, 6)
    deepEqual(
      [1, 2, 5].map((attempts) => policy.computeDelayMs(attempts) / minute),
      [1, 5, 240],
    )
  })

  it('refuses a list that is none', () => {
    for (const list of [[], [-1], ['1m'], 5]) {
      throws(() => retrySchedule(list as number[]), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /a list of waits/,
      })
    }
  })
})
