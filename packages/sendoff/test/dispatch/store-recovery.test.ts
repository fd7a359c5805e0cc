import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { BackOff, StoreRecovery } from '../../src/dispatch/store-recovery.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

function pauses() {
  const clock = fakeClock()
  const recovery = new StoreRecovery(clock)
  const backOff = new BackOff({ recovery, clock, firstMs: 100, longestMs: 1_000 })
  let calls = 0
  const fail = () => {
    backOff.failed()
    backOff.schedule(backOff.pauseMs, () => calls++)
  }
  return { clock, recovery, backOff, fail, calls: () => calls }
}

it('a pause ends when its time is over, and doubles up to a limit', async () => {
  const { clock, backOff, fail, calls } = pauses()
  const lengths: number[] = []
  for (let failure = 0; failure < 6; failure++) {
    fail()
    lengths.push(backOff.pauseMs)
    await clock.advance(backOff.pauseMs - 1)
    equal(calls(), failure)
    await clock.advance(1)
    equal(calls(), failure + 1)
  }
  deepEqual(lengths, [100, 200, 400, 800, 1_000, 1_000])
})

it('a pause ends as soon as the store answers any other call', () => {
  const { recovery, fail, calls } = pauses()
  fail()
  recovery.answered()
  equal(calls(), 1)
  recovery.answered()
  equal(calls(), 1, 'once')
})

it('a call that fails although the store answers others is repeated after a time of its own', async () => {
  const { clock, recovery, backOff, fail, calls } = pauses()
  fail()
  recovery.answered()
  fail()
  recovery.answered()
  equal(calls(), 1)
  await clock.advance(100)
  equal(calls(), 2)
  fail()
  equal(backOff.pauseMs, 200)
  recovery.answered()
  equal(calls(), 2)
})

it('after a success the next failure is waited out as the first one was', () => {
  const { recovery, backOff, fail, calls } = pauses()
  fail()
  recovery.answered()
  fail()
  backOff.succeeded()
  fail()
  equal(backOff.pauseMs, 100)
  recovery.answered()
  equal(calls(), 2)
})
