import { deepEqual, equal, match } from 'node:assert/strict'
import { it } from 'node:test'
import { FailureReports } from '../../src/dispatch/failure-reports.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { deliveryOf } from '../fixtures/delivery-of.ts'
import { onEveryStore, startOutbox, until, writeTested } from '../fixtures/outbox-fixture.ts'

onEveryStore(
  'a failed attempt is told at once: which event, which attempt of how many, when the next one is, and why',
  async (test, open, mode) => {
    const listeners = new ListenerRegistry().register('Tested', () => {
      throw new TypeError('the carrier does not answer')
    })
    const { outbox, log } = await startOutbox(test, open(), {
      mode,
      listeners,
      retryPolicy: fixedDelay(20),
      maxAttempts: 2,
    })
    const [id] = await writeTested(outbox, 1)
    await until(() => log.length === 2)
    deepEqual(log, [
      `warn: Event ${id} (Tested) failed at attempt 1 of 2, next in 20 ms: TypeError: the carrier does not answer`,
      `error: Event ${id} (Tested) is DEAD: TypeError: the carrier does not answer`,
    ])
  },
)

onEveryStore('a failure that its fallback made good is told, too', async (test, open, mode) => {
  const listeners = new ListenerRegistry().register(
    'Tested',
    () => {
      throw new Error('no')
    },
    { fallback: () => {} },
  )
  const { outbox, log } = await startOutbox(test, open(), { mode, listeners, maxAttempts: 1 })
  const [id] = await writeTested(outbox, 1)
  await until(() => log.length === 1)
  equal(log[0], `warn: Event ${id} (Tested) failed at attempt 1 of 1, and its fallback succeeded: Error: no`)
})

it('many failures of a type are told by a few lines, and then by one that counts the rest', async () => {
  const { reports, clock, log, fail } = recording()
  for (let failure = 0; failure < 1_000; failure++) fail('Tested', 'no')
  fail('Other', 'no')
  equal(log.length, 6)

  await clock.advance(10_000)
  equal(log.length, 7)
  match(log[6]!, /^995 more attempts at "Tested" failed within 10 s\. The last: Event .+: no$/)

  // While it goes on there is one line for each window, and after a quiet one it begins anew.
  fail('Tested', 'again')
  equal(log.length, 7)
  await clock.advance(10_000)
  match(log[7]!, /^1 more attempts at "Tested" failed/)
  await clock.advance(20_000)
  fail('Tested', 'anew')
  match(log[8]!, /: anew$/)

  for (let failure = 0; failure < 10; failure++) fail('Tested', 'no')
  reports.flush()
  match(log.at(-1)!, /^6 more attempts/)
})

it('failures of many types are bounded as well', () => {
  const { log, fail } = recording()
  for (let type = 0; type < 1_000; type++) fail(`Type${type}`, 'no')
  equal(log.length, 25)
})

function recording() {
  const clock = fakeClock()
  const log: string[] = []
  const keep = (message: string) => void log.push(message)
  const reports = new FailureReports(clock, { ...silentLogger, warn: keep, error: keep })
  const fail = (eventType: string, error: string) => {
    reports.report(
      deliveryOf({ eventType }),
      { kind: 'retry', delayMs: 1, failure: { error, counted: true } },
      10,
    )
  }
  return { reports, clock, log, fail }
}
