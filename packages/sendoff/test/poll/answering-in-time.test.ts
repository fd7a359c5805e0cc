import { deepEqual, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Outbox } from '../../src/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'

describe('a store that does not answer', () => {
  for (const mode of ['singleNode', 'ordered', 'partitioned'] as const) {
    it(`is asked for its lock again, ${mode}`, async (test) => {
      const memory = memoryStore()
      let asked = 0
      const store = faultyStore(memory, {
        locks: {
          acquire: (request) => (asked++ === 0 ? new Promise(() => {}) : memory.locks.acquire(request)),
        },
      })
      const delivered = Promise.withResolvers<unknown>()
      const outbox = await Outbox[mode]<any>({
        store,
        listeners: new ListenerRegistry().register('Tested', ({ payload }) => delivered.resolve(payload)),
        logger: false,
        leaseMs: 200,
        poller: { intervalMs: 20 },
      }).start()
      test.after(() => outbox.close())
      // Later, so that it does not go past the lock.
      await outbox.transaction(() => outbox.write('Tested', 'an event', { deliverAfterMs: 1 }))

      deepEqual(await delivered.promise, 'an event')
      ok(asked > 1)
    })
  }
})
