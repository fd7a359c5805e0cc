import { deepEqual } from 'node:assert/strict'
import { it } from 'node:test'
import { Delivery } from '../../src/delivery/delivery.ts'
import { InFlightTracker } from '../../src/delivery/in-flight-tracker.ts'
import { LeaseKeeper } from '../../src/hold/lease-keeper.ts'
import type { Row } from '../../src/store/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

const lease = { owner: 'test', ms: 300 }

for (const [what, renewalMs, starts] of [
  ['three times in a term', 40, [100, 200, 300, 400]],
  ['again at once where a renewal took longer than that', 120, [100, 220, 340]],
] as const) {
  it(`leases are renewed ${what}`, async () => {
    const clock = fakeClock()
    const renewedAt: number[] = []
    const inFlight = new InFlightTracker()
    const row = { eventId: 'a', destination: '', seq: 1, deliveries: 1, lockedBy: 'test' } as Row
    inFlight.tryAcquire(new Delivery(row, 'cold', { validUntil: Infinity }))
    const keeper = new LeaseKeeper({
      store: {
        renew({ rows }) {
          renewedAt.push(clock.monotonic())
          return new Promise((resolve) => clock.schedule(renewalMs, () => resolve(rows.slice(rows.length))))
        },
      },
      lease,
      clock,
      inFlight,
    })
    keeper.start()
    await clock.advance(800)
    keeper.stop()
    deepEqual(renewedAt.slice(0, starts.length), starts)
  })
}
