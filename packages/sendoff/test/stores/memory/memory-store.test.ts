import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import type { MemoryStoreOptions, MemoryTx } from '../../../src/stores/memory/index.ts'
import { skipReason } from '../../../src/testing/store-check.ts'
import { storeChecks } from '../../../src/testing/store-checks/index.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

const lease = { owner: 'test', ms: 30_000 }
const ended = { name: 'OutboxError', code: 'OUTBOX_TRANSACTION_ENDED' }

describe('memory store', () => {
  for (const check of storeChecks) {
    const skip = skipReason(check, { store: memoryStore() })
    it(check.name, { skip }, async () => {
      let time = Date.UTC(2026, 0, 1)

      await check.run({
        store: memoryStore({ now: () => time }),
        wait: async (ms) => {
          time += ms
        },
      })
    })
  }

  it('the engine does not wait for an open transaction, nor see its rows', async () => {
    const store = memoryStore()
    await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
    await store.transaction(async (tx) => {
      await store.insert({ tx, rows: sampleRows(1), lease })
      const rows = await store.claim({ lease, limit: 10 })

      equal(rows.length, 1)
      deepEqual(
        await store.settle({ settlements: rows.map((row) => ({ row, outcome: { kind: 'done' } })) }),
        [],
      )
    })
    equal(await store.people.count({ status: [0] }), 1)
  })

  it('transactions run one at a time, in the order in which they were asked for', async () => {
    const store = memoryStore()
    const order: string[] = []
    await Promise.all(
      [1, 2, 3].map((number) =>
        store.transaction(async () => {
          order.push(`begin ${number}`)
          await Promise.resolve()
          order.push(`end ${number}`)
        }),
      ),
    )

    deepEqual(order, ['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
  })

  it('a transaction that has ended takes no more rows', async () => {
    const store = memoryStore()
    const late = await store.transaction(async (tx) => tx)

    await rejects(store.insert({ tx: late, rows: sampleRows(1), lease }), ended)
    await rejects(
      store.transaction(async () => {}, { within: late }),
      ended,
    )
    await rejects(store.insert({ tx: {} as MemoryTx, rows: sampleRows(1), lease }), {
      code: 'OUTBOX_NO_TRANSACTION',
    })
    equal(store.inTransaction({} as MemoryTx), false)
  })

  it('a nested transaction that nobody awaited undoes everything', async () => {
    const store = memoryStore()
    const gate = Promise.withResolvers<void>()
    let nested: Promise<void> | undefined
    const outer = store.transaction(async (tx) => {
      await store.insert({ tx, rows: sampleRows(1), lease })
      nested = store.transaction(
        async (inner) => {
          await store.insert({ tx: inner, rows: sampleRows(1), lease })
          await gate.promise
        },
        { within: tx },
      )
    })

    await rejects(outer, ended)
    gate.resolve()
    await rejects(nested!, ended)
    equal(await store.people.count({}), 0)
  })

  it('a failed insert adds nothing, even if its error is swallowed', async () => {
    const store = memoryStore()
    const row = sampleRow()
    await store.transaction(async (tx) => {
      const failed = store.insert({ tx, rows: [sampleRow({ idempotencyKey: 'key' }), row, row], lease })
      await rejects(failed, { code: 'OUTBOX_DUPLICATE_EVENT_ID' })
      const [result] = await store.insert({ tx, rows: [sampleRow({ idempotencyKey: 'key' })], lease })
      equal(result!.kind, 'inserted')
    })

    equal(await store.people.count({}), 1)
  })

  it('rows that were handed out or in can be changed without changing the store', async () => {
    const store = memoryStore()
    const payload = Uint8Array.of(1, 2, 3)
    await store.transaction((tx) => store.insert({ tx, rows: [sampleRow({ payload })], lease }))
    payload[0] = 9
    const [read] = await store.people.query({ limit: 1 })
    ;(read!.payload as Uint8Array)[1] = 9

    deepEqual((await store.claim({ lease, limit: 1 }))[0]!.payload, Uint8Array.of(1, 2, 3))
  })

  it('a hundred thousand rows, held or settled, do not slow a claim down', async () => {
    const store = memoryStore()
    await store.transaction((tx) => store.insert({ tx, rows: sampleRows(100_000), lease }))
    const start = performance.now()
    for (let batch = 0; batch < 1_000; batch += 1) {
      const rows = await store.claim({ lease, limit: 100 })
      equal(rows.length, 100)
      // Half of the rows stay leased.
      await store.settle({ settlements: rows.slice(50).map((row) => ({ row, outcome: { kind: 'done' } })) })
    }

    deepEqual(await store.claim({ lease, limit: 100 }), [])
    const elapsedMs = performance.now() - start
    ok(elapsedMs < 10_000, `took ${elapsedMs} ms`)
  })

  it('options that do not exist or do not fit are refused', () => {
    throws(() => memoryStore({ clock: Date.now } as MemoryStoreOptions), { code: 'OUTBOX_UNKNOWN_OPTION' })
    throws(() => memoryStore({ now: 5 } as unknown as MemoryStoreOptions), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
