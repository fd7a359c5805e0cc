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
  const batch = { beganAt: 0 }
  const otherBatch = { beganAt: 0 }

  it('let one caller at a time try, after waits that double up to the longest', () => {
    const { outages, time } = setUp()
    equal(outages.waitMs('', batch), 0)
    const delays = [outages.failed('', batch, refused)]
    for (let round = 0; round < 3; round++) {
      equal(outages.waitMs('', batch) > 0, true, 'it is too early')
      time.now += delays.at(-1)!
      equal(outages.waitMs('', batch), 0)
      equal(outages.waitMs('', batch), 100, 'another batch is trying')
      delays.push(outages.failed('', batch, refused))
    }
    deepEqual(delays, [100, 200, 300, 300])
  })

  it('are logged once when they begin, and once when they end', () => {
    const { outages, log, time } = setUp()
    outages.failed('', batch, refused)
    equal(outages.failed('', batch, refused), 100, 'another one was on its way')
    time.now += 100
    equal(outages.waitMs('', batch), 0)
    outages.failed('', batch, refused)
    time.now += 200
    equal(outages.waitMs('', batch), 0)
    log.requireOutage(0)
    outages.answered('', batch)
    outages.answered('', batch)
    log.requireOutage(1)
    equal(outages.waitMs('', batch), 0)
  })

  it('are not logged by batches that were on their way when they began or ended', () => {
    const { outages, log, time } = setUp()
    outages.failed('', batch, refused)
    outages.answered('', otherBatch)
    log.requireOutage(0)
    time.now += 100
    equal(outages.waitMs('', batch), 0)
    outages.answered('', otherBatch)
    log.requireOutage(0)
    outages.answered('', batch)
    equal(outages.failed('', otherBatch, refused), 100)
    log.requireOutage(1)

    const later = { beganAt: 200 }
    outages.answered('', later)
    outages.failed('', later, refused)
    equal(log.lines.length, 3, 'the next outage')
  })

  it('log at most once a minute that a destination does not accept a part of the events', () => {
    const { outages, log, time } = setUp()
    for (let second = 0; second <= 60; second++) {
      equal(outages.failedPartly('', refused), 100)
      outages.answered('', batch)
      time.now += 1_000
    }
    equal(log.lines.length, 2)
    equal(outages.waitMs('', batch), 0)
  })

  it('distinguish destinations', () => {
    const { outages } = setUp()
    outages.failed('one', batch, refused)
    equal(outages.waitMs('one', batch) > 0, true)
    equal(outages.waitMs('another', batch), 0)
  })

  it('let another batch try when one has ended without a result', () => {
    const { outages, time } = setUp()
    outages.failed('', batch, refused)
    time.now += 100
    equal(outages.waitMs('', batch), 0)
    outages.ended('', otherBatch)
    equal(outages.waitMs('', otherBatch), 100, 'the first one still tries')
    outages.ended('', batch)
    equal(outages.waitMs('', otherBatch), 0)
  })

  it('last no longer because a batch fails that was on its way when another one tried', () => {
    const { outages, time } = setUp()
    outages.failed('', batch, refused)
    time.now += 100
    equal(outages.waitMs('', batch), 0)
    equal(outages.failed('', otherBatch, refused), 100)
    equal(outages.failed('', batch, refused), 200)
  })
})
