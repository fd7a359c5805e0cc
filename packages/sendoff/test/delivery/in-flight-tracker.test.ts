import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { InFlightTracker } from '../../src/delivery/in-flight-tracker.ts'
import { deliveryOf } from '../fixtures/delivery-of.ts'

describe('the set of what is in hand', () => {
  it('takes a row once, until it is let go of', () => {
    const inFlight = new InFlightTracker()
    const first = deliveryOf({ eventId: 'a' })
    equal(inFlight.tryAcquire(first), true)
    equal(inFlight.tryAcquire(deliveryOf({ eventId: 'a' })), false)
    equal(inFlight.get('a'), first)
    inFlight.release(first)
    equal(inFlight.tryAcquire(deliveryOf({ eventId: 'a' })), true)
  })

  it('lets go of the very delivery that it has, and of no other one of the same row', () => {
    const inFlight = new InFlightTracker()
    const running = deliveryOf({ eventId: 'a' })
    inFlight.tryAcquire(running)
    inFlight.release(deliveryOf({ eventId: 'a' }))
    equal(inFlight.get('a'), running)

    const pollEnds = inFlight.pollBegins()
    inFlight.release(deliveryOf({ eventId: 'a' }))
    pollEnds()
    equal(inFlight.get('a'), running)
  })

  it('hands over the later of two claims, whichever was answered first', () => {
    for (const [polled, claimed] of [
      [3, 2],
      [2, 3],
      [3, undefined],
    ] as const) {
      const inFlight = new InFlightTracker()
      equal(inFlight.await('a'), true)
      equal(inFlight.keepAwaited(deliveryOf({ eventId: 'a', deliveries: polled })), true)
      const answer = claimed === undefined ? undefined : deliveryOf({ eventId: 'a', deliveries: claimed })
      equal(inFlight.claimed('a', answer)?.deliveries, 3)
      equal(inFlight.keepAwaited(deliveryOf({ eventId: 'a' })), false)
    }
  })

  it('waits for no row that it has', () => {
    const inFlight = new InFlightTracker()
    inFlight.tryAcquire(deliveryOf({ eventId: 'a' }))
    equal(inFlight.await('a'), false)
  })

  it('tells the destinations of one event apart', () => {
    const inFlight = new InFlightTracker()
    equal(inFlight.tryAcquire(deliveryOf({ eventId: 'a', destination: 'mail' })), true)
    equal(inFlight.tryAcquire(deliveryOf({ eventId: 'a', destination: 'broker' })), true)
  })

  it('keeps a row until every poll that began before its settlement has returned', () => {
    const inFlight = new InFlightTracker()
    const [early, late] = [deliveryOf({ eventId: 'early' }), deliveryOf({ eventId: 'late' })]
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
    const delivery = deliveryOf({ eventId: 'a' })
    inFlight.tryAcquire(delivery)
    inFlight.release(delivery)
    inFlight.pollBegins()
    equal(inFlight.size, 0)
  })
})

it('lets a row in again whose delivery is lost and older than the time limit, and no other', async () => {
  const clock = fakeClock()
  const tracker = new InFlightTracker({ ttlMs: 1_000, clock })
  const [hanging, again] = [deliveryOf(), deliveryOf()]
  equal(tracker.tryAcquire(hanging), true)
  await clock.advance(2_000)
  equal(tracker.tryAcquire(again), false, 'it is held')
  hanging.lose()
  equal(tracker.tryAcquire(again), true)

  tracker.release(hanging)
  equal(tracker.get(again.rowId), again, 'the end of the first does not take the second along')
  equal(new InFlightTracker().tryAcquire(again), true)
})
