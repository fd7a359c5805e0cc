import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { BackOff, StoreRecovery } from '../../src/store-calls/store-recovery.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

function pauses() {
  const clock = fakeClock()
  const recovery = new StoreRecovery(clock)
  const log: string[] = []
  const keep = (message: string) => void log.push(message)
  const logger = { ...silentLogger, warn: keep, error: keep }
  const backOff = new BackOff({ what: 'Polling', logger, recovery, clock, firstMs: 100, longestMs: 1_000 })
  let calls = 0
  const fail = () => {
    backOff.failed('Polling failed.')
    backOff.schedule(backOff.pauseMs, () => calls++)
  }
  return { clock, recovery, backOff, logger, log, fail, calls: () => calls }
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

it('an outage is told by a line at its beginning and one at its end, however many calls fail', async () => {
  const { clock, recovery, logger, log, fail } = pauses()
  for (let failure = 0; failure < 20; failure++) {
    fail()
    recovery.failed('A heartbeat', logger, 'A heartbeat failed.')
    await clock.advance(1_000)
  }
  deepEqual(log, ['Polling failed.'])
  recovery.answered()
  deepEqual(log, ['Polling failed.', 'The store answers again after 20 s. 40 calls had failed.'])
})

it('a call that keeps failing although the store answers others is told once a minute', async () => {
  const { clock, recovery, log, fail } = pauses()
  for (let failure = 0; failure < 120; failure++) {
    fail()
    recovery.answered()
    await clock.advance(1_000)
  }
  equal(log.filter((line) => line === 'Polling failed.').length, 2)
})

it('a second outage is told again', () => {
  const { recovery, backOff, log, fail } = pauses()
  fail()
  recovery.answered()
  backOff.succeeded()
  fail()
  equal(log.filter((line) => line === 'Polling failed.').length, 2)
})
