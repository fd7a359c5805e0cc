import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Delivery } from '../../src/dispatch/delivery.ts'
import { InFlightTracker } from '../../src/dispatch/in-flight-tracker.ts'
import type { Row } from '../../src/store.ts'

describe('the set of what is in hand', () => {
  it('takes a row once, until it is let go of', () => {
    const inFlight = new InFlightTracker()
    const first = deliveryOf('a')
    equal(inFlight.tryAcquire(first), true)
    equal(inFlight.tryAcquire(deliveryOf('a')), false)
    equal(inFlight.get('a'), first)
    inFlight.release(first)
    equal(inFlight.tryAcquire(deliveryOf('a')), true)
  })

  it('tells the destinations of one event apart', () => {
    const inFlight = new InFlightTracker()
    equal(inFlight.tryAcquire(deliveryOf('a', 'mail')), true)
    equal(inFlight.tryAcquire(deliveryOf('a', 'broker')), true)
  })

  it('keeps a row until every poll that began before its settlement has returned', () => {
    const inFlight = new InFlightTracker()
    const [early, late] = [deliveryOf('early'), deliveryOf('late')]
    for (const delivery of [early, late]) inFlight.tryAcquire(delivery)

    const firstEnds = inFlight.pollBegins()
    inFlight.release(early)
    const secondEnds = inFlight.pollBegins()
    inFlight.release(late)
    const thirdEnds = inFlight.pollBegins()

    secondEnds()
    equal(inFlight.size, 2)
    firstEnds()
    equal(inFlight.size, 0)
    thirdEnds()
  })

  it('does not keep what was settled before a poll began', () => {
    const inFlight = new InFlightTracker()
    const delivery = deliveryOf('a')
    inFlight.tryAcquire(delivery)
    inFlight.release(delivery)
    inFlight.pollBegins()
    equal(inFlight.size, 0)
  })
})

function deliveryOf(eventId: string, destination = ''): Delivery {
  const row: Row = {
    seq: 1,
    eventId,
    destination,
    eventType: 'Tested',
    aggregateType: '__GLOBAL__',
    aggregateId: null,
    tenantId: null,
    orderingKey: null,
    partitionNo: null,
    payload: '1',
    contentType: null,
    headers: null,
    attempts: 0,
    deliveries: 1,
    losses: 0,
    availableAt: 0,
    occurredAt: 0,
    createdAt: 0,
    lockedBy: 'node',
  }
  return new Delivery(row, 'cold', { validUntil: Infinity })
}
