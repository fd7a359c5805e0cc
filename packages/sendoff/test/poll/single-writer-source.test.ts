import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { NamedLock } from '../../src/hold/named-lock.ts'
import { SingleWriterSource } from '../../src/poll/single-writer-source.ts'
import type { OutboxLocks } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { deliveryOf } from '../fixtures/delivery-of.ts'

it('a tick that goes on and on remembers what is not settled, and nothing else', async () => {
  const attributes: Record<string, unknown> = {}
  const remembered: number[] = []
  const lock = pollerLock(memoryStore())
  const source = new SingleWriterSource({
    lock,
    logger: silentLogger,
    source: {
      fetch: async (limit) => ({
        deliveries: Array.from({ length: limit }, () => deliveryOf({ lockedBy: null })),
        hasMore: false,
      }),
    },
    tracer: {
      startSpan: () => ({
        setAttribute: (key, value) => (attributes[key] = value),
        recordException() {},
        end() {},
      }),
    },
    async untilSettled(deliveries) {
      remembered.push(deliveries.length)
      for (const delivery of deliveries) delivery.ended = true
    },
  })
  for (let read = 0; read < 100; read++) {
    const [open, ...others] = (await source.fetch(10, true)).deliveries
    for (const delivery of others) delivery.ended = delivery.hasSucceeded = true
    if (read >= 3) open!.ended = true
  }
  await source.drained()

  deepEqual(remembered, [3 + 10], 'of the first three reads one each, and the last read')
  deepEqual(attributes, { 'batch.size': 1_000, 'success.count': 900, 'failure.count': 100 })
})

it('a tick that ends with a row unsettled lets its lock run out instead of releasing it', async () => {
  const store = memoryStore()
  const lock = pollerLock(store)
  const read = [deliveryOf({ lockedBy: null }), deliveryOf({ lockedBy: null })]
  const source = new SingleWriterSource({
    lock,
    logger: silentLogger,
    source: { fetch: async () => ({ deliveries: read.splice(0, 1), hasMore: false }) },
    tracer: undefined,
    // Closing has waited long enough for its listeners.
    untilSettled: async () => undefined,
  })
  const other = { lock: 'poller', token: 'other', ttlMs: 60_000 }

  const [unsettled] = (await source.fetch(10, true)).deliveries
  await source.drained()
  equal(await store.locks.acquire(other), false, 'the listener still runs')

  unsettled!.ended = true
  await store.locks.release(lock.fence)
  const [settled] = (await source.fetch(10, true)).deliveries
  settled!.ended = true
  await source.drained()
  equal(await store.locks.acquire(other), true)
})

function pollerLock({ locks }: { readonly locks: OutboxLocks }): NamedLock {
  return new NamedLock({
    locks,
    name: 'poller',
    token: 'me',
    ttlMs: 60_000,
    renewMarginMs: 60_000 / 3,
    clock: systemClock,
    logger: silentLogger,
  })
}
