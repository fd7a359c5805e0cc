import { deepEqual, equal, rejects } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { Outbox } from '../../src/outbox/outbox.ts'
import { EventStatus } from '../../src/store/event-status.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

const stores = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore({ open: () => new DatabaseSync(':memory:') }),
}

for (const [name, open] of Object.entries(stores)) {
  describe(`outbox.cancel on ${name}`, () => {
    it('cancels by id and by idempotency key, in the transaction of the caller', async (t) => {
      const { outbox, store } = await started(t, open)
      const [first, second] = await outbox.transaction(async () => [
        await outbox.write('A', 1),
        await outbox.write('A', 2, { idempotencyKey: 'once' }),
      ])
      const undone = outbox.transaction(async () => {
        deepEqual((await outbox.cancel(first)).rows.length, 1)
        throw new Error('no')
      })
      await rejects(undone, /no/)
      equal(await store.people.count({ status: [EventStatus.DEAD] }), 0)

      await outbox.transaction(async () => {
        equal((await outbox.cancel(first, { reason: 'Order withdrawn.' })).rows.length, 1)
        equal((await outbox.cancel({ idempotencyKey: 'once' })).eventId, second)
      })
      const dead = await outbox.deadEvents.query()
      deepEqual(
        dead.map(({ lastError }) => lastError),
        ['Order withdrawn.', 'Cancelled.'],
      )
      const audit = await store.actions.audit({ limit: 10 })
      deepEqual(
        audit.map(({ action, affected }) => [action, affected]),
        [
          ['cancel', 1],
          ['cancel', 1],
        ],
      )
    })

    it('opens a transaction of its own if there is none, and leaves what has ended or is held', async (t) => {
      const { outbox, store } = await started(t, open)
      const id = await outbox.transaction(() => outbox.write('A', 1))
      await store.claim({ lease: { owner: 'w', ms: 30_000 }, limit: 1 })
      const held = await outbox.cancel({ eventId: id })
      deepEqual([held.rows, held.held.map(({ holder }) => holder)], [[], ['w']])
      const unknown = await outbox.cancel('none')
      deepEqual(unknown, { eventId: undefined, rows: [], held: [] })
    })

    it('refuses what names no event', async (t) => {
      const { outbox } = await started(t, open)
      const code = { code: 'OUTBOX_INVALID_OPTION' }
      await rejects(outbox.cancel(''), code)
      await rejects(outbox.cancel({} as never), code)
      await rejects(outbox.cancel({ eventId: 'a', idempotencyKey: 'b' }), code)
      await rejects(outbox.cancel('a', { why: 'x' } as never), { code: 'OUTBOX_UNKNOWN_OPTION' })
    })
  })
}

async function started<Tx>(t: TestContext, open: () => ReturnType<(typeof stores)['memory']> | Tx) {
  const store = open() as ReturnType<(typeof stores)['memory']>
  const outbox = await Outbox.writerOnly({ store, logger: false }).start()
  t.after(() => outbox.close())
  return { outbox, store }
}
