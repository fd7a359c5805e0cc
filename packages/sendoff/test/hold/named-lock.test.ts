import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { NamedLock } from '../../src/hold/named-lock.ts'

describe('a named lock', () => {
  it('is renewed half of its time after it was asked for, however slow the answer was', async () => {
    let time = 0
    const pauses: number[] = []
    const schedule = (ms: number) => {
      pauses.push(ms)
      return () => {}
    }
    const slowly = (ms: number) => async () => {
      time += ms
      return true
    }
    for (const answerMs of [0, 300, 700]) {
      await new NamedLock({
        locks: { acquire: slowly(answerMs), renew: slowly(0), release: async () => {} },
        name: 'tested',
        token: 'me',
        ttlMs: 1_000,
        renewMarginMs: 500,
        clock: { ...systemClock, monotonic: () => time, schedule },
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      }).acquire()
    }
    // The first of each two is the end of the lock.
    deepEqual(pauses, [950, 500, 650, 200, 250, 0])
  })
})
