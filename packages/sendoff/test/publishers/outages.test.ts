import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Outages } from '../../src/publishers/outages.ts'
import { KeptLog } from '../../src/testing/publisher-checks/publish-steps.ts'

describe('Outages', () => {
  const setUp = () => {
    const log = new KeptLog()
    const time = { now: 0 }
    const outages = new Outages({
      name: 'Kafka',
      firstDelayMs: 100,
      maxDelayMs: 300,
      logger: log,
      now: () => time.now,
    })
    return { outages, log, time }
  }
  const refused = new Error('connection refused')

  it('lets one caller at a time try, after waits that double up to the longest', () => {
    const { outages, time } = setUp()
    equal(outages.waitMs(''), 0)
    const delays = [outages.failed('', refused)]
    for (let round = 0; round < 3; round++) {
      equal(outages.waitMs('') > 0, true, 'it is too early')
      time.now += delays.at(-1)!
      equal(outages.waitMs(''), 0)
      equal(outages.waitMs(''), 100, 'somebody is trying')
      delays.push(outages.failed('', refused))
    }
    deepEqual(delays, [100, 200, 300, 300])
  })

  it('is told once that it begins, and once that it is over', () => {
    const { outages, log, time } = setUp()
    outages.failed('', refused)
    equal(outages.failed('', refused), 100, 'another one was on its way')
    time.now += 100
    equal(outages.waitMs(''), 0)
    outages.failed('', refused)
    log.requireOutage(0)
    outages.answered('')
    outages.answered('')
    log.requireOutage(1)
    equal(outages.waitMs(''), 0)
  })

  it('knows destinations apart', () => {
    const { outages } = setUp()
    outages.failed('one', refused)
    equal(outages.waitMs('one') > 0, true)
    equal(outages.waitMs('another'), 0)
  })

  it('lets another try when one was broken off', () => {
    const { outages, time } = setUp()
    outages.failed('', refused)
    time.now += 100
    equal(outages.waitMs(''), 0)
    outages.untold('')
    equal(outages.waitMs(''), 0)
  })
})
