import { deepEqual } from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { NamedLock } from '../../src/hold/named-lock.ts'
import { SingleWriterSource } from '../../src/poll/single-writer-source.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { deliveryOf } from '../fixtures/delivery-of.ts'

it('a tick that goes on and on remembers what is not settled, and nothing else', async () => {
  const attributes: Record<string, unknown> = {}
  const remembered: number[] = []
  const lock = new NamedLock({
    locks: memoryStore().locks,
    name: 'poller',
    token: 'me',
    ttlMs: 60_000,
    renewMarginMs: 60_000 / 3,
    clock: systemClock,
    logger: silentLogger,
  })
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
