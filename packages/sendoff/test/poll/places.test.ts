import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../src/clock.ts'
import { InFlightTracker } from '../../src/delivery/in-flight-tracker.ts'
import { NamedLock } from '../../src/hold/named-lock.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { claimSource } from '../../src/poll/claim-source.ts'
import { OutboxPoller } from '../../src/poll/outbox-poller.ts'
import { OwnerSource } from '../../src/poll/owner-source.ts'
import type { PendingSource } from '../../src/poll/pending-source.ts'
import type { DuePlace, OutboxStore } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { insertRows, leaseOf } from '../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../src/testing/store-checks/sample-rows.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'

interface SourceParts {
  readonly store: OutboxStore<any>
  readonly inFlight: InFlightTracker
  readonly clock: Clock
}

const lease = leaseOf('a')

const sources: Record<string, (parts: SourceParts) => PendingSource> = {
  'rows that are claimed': ({ store, clock }) => claimSource({ store, lease, clock }),
  'rows that are read under a lock': (parts) => {
    const { locks } = parts.store
    const times = { ttlMs: 60_000, renewMarginMs: 30_000 }
    const lock = new NamedLock({
      ...parts,
      ...times,
      locks,
      name: 'poller',
      token: 'a',
      logger: silentLogger,
    })
    return new OwnerSource({ ...parts, lock, lease, skipRecentMs: 0, destination: '' })
  },
}

describe('a drain continues from its place after a wait for room, and otherwise starts over:', () => {
  for (const [kind, sourceOf] of Object.entries(sources)) {
    it(kind, async () => {
      const { poller, resumeFor, asked, slowNext } = await pollerOf(sourceOf)
      await resumeFor(2, () => poller.start())
      await resumeFor(1, () => poller.resume())
      await resumeFor(1, () => poller.wake())
      slowNext()
      await resumeFor(2, () => poller.resume())
      await poller.close()

      deepEqual(asked, ['start', 1, 2, 'start', 4, 'start'])
    })
  }
})

/** A poller that asks for one row at a time. `asked` has the place of each call: how many rows stand before it. */
async function pollerOf(sourceOf: (parts: SourceParts) => PendingSource) {
  const clock = fakeClock()
  const inFlight = new InFlightTracker()
  const real = memoryStore({ now: clock.now })
  await insertRows(real, sampleRows(10))
  const seqs: number[] = []
  const asked: (number | 'start')[] = []
  let nextTakesMs = 0
  const answered = async (place: DuePlace | undefined) => {
    asked.push(place === undefined ? 'start' : seqs.indexOf(place.seq) + 1)
    await clock.advance(nextTakesMs)
    nextTakesMs = 0
  }
  const store = faultyStore(real, {
    claim: (claim, request) => answered(request.from).then(() => claim(request)),
    pollPending: (pollPending, request) => answered(request.from).then(() => pollPending(request)),
  })

  let room = 0
  let isFull = Promise.withResolvers<void>()
  const poller = new OutboxPoller({
    source: sourceOf({ store, inFlight, clock }),
    inFlight,
    clock,
    batchSize: 1,
    maxBatchSize: 1,
    handler: {
      handle: (delivery) => seqs.push(delivery.row.seq) > 0 && inFlight.tryAcquire(delivery),
      availableCapacity() {
        if (room === 0) isFull.resolve()
        return Math.max(0, room--)
      },
    },
  })
  const resumeFor = async (rows: number, wake: () => void) => {
    room = rows
    isFull = Promise.withResolvers()
    wake()
    await isFull.promise
  }
  return { poller, resumeFor, asked, slowNext: () => (nextTakesMs = 1_000) }
}
