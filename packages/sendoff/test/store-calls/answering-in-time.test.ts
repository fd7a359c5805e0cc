import { deepEqual, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { HeldRow, RowFilter } from '../../src/store/index.ts'
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

  it('frees what it has claimed for a call that was given up', async (test) => {
    const answered = Promise.withResolvers<void>()
    const released = Promise.withResolvers<readonly HeldRow[]>()
    let asked = 0
    const store = faultyStore(memoryStore(), {
      async claim(claim, request) {
        const rows = await claim(request)
        if (rows.length > 0 && asked++ === 0) await answered.promise
        return rows
      },
      release(release, rows) {
        released.resolve(rows)
        return release(rows)
      },
    })
    const errors: string[] = []
    const outbox = await Outbox.multiNode<any>({
      store,
      listeners: new ListenerRegistry().register('Tested', () => {}),
      logger: {
        debug() {},
        info() {},
        warn() {},
        error(message) {
          errors.push(message)
          answered.resolve()
        },
      },
      leaseMs: 400,
      poller: { intervalMs: 20 },
    }).start()
    test.after(() => outbox.close())
    const id = await outbox.transaction(() => outbox.write('Tested', 'an event', { deliverAfterMs: 1 }))

    deepEqual(
      (await released.promise).map(({ eventId }) => eventId),
      [id],
    )
    match(errors[0]!, /did not answer claim/)
  })

  it('does not keep a settler waiting that asks what was written', async (test) => {
    const memory = memoryStore()
    let settled = 0
    let asked = 0
    // The first settlement is written, and its answer is lost. Then the question for it gets no answer.
    const faulty = faultyStore(memory, {
      async settle(settle, request) {
        const refused = await settle(request)
        if (settled++ === 0) throw new Error('The connection was lost.')
        return refused
      },
    })
    const people = {
      ...memory.people,
      query: (filter: RowFilter) =>
        asked++ === 0 ? new Promise<never>(() => {}) : memory.people.query(filter),
    }
    const outbox = await Outbox.multiNode<any>({
      store: new Proxy(faulty, {
        get: (target, name) => (name === 'people' ? people : (Reflect.get(target, name) as unknown)),
      }),
      listeners: new ListenerRegistry().register('Tested', () => {}),
      logger: false,
      leaseMs: 200,
    }).start()
    test.after(() => outbox.close())
    await outbox.transaction(() => outbox.write('Tested', 'an event'))
    await outbox.drain()
    ok(asked > 1)
  })
})
