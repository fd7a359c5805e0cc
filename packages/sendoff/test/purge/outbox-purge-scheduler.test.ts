import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { OutboxPurgeScheduler } from '../../src/purge/outbox-purge-scheduler.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

const dayMs = 86_400_000

function clockedStore() {
  const clock = { now: 1_000_000_000_000 }
  return { clock, store: memoryStore({ now: () => clock.now }) }
}

async function insertSettled(store: any, count: number, outcome: any): Promise<void> {
  await store.transaction((tx: unknown) =>
    store.insert({
      tx,
      rows: Array.from({ length: count }, () => EventEnvelope.ofJson('T', '1').toRow(false)),
    }),
  )
  const rows = await store.claim({ lease: { owner: 'a', ms: 1_000 }, limit: count })
  await store.settle({ settlements: rows.map((row: unknown) => ({ row, outcome })) })
}

describe('the purge', () => {
  it('removes DONE events after 7 days, in batches, and keeps DEAD ones', async () => {
    const { clock, store } = clockedStore()
    await insertSettled(store, 1_200, { kind: 'done' })
    await insertSettled(store, 3, { kind: 'dead', failure: { error: 'x', counted: true } })
    const progress: number[] = []
    const purge = new OutboxPurgeScheduler({
      store,
      onProgress: ({ deletedRows }) => progress.push(deletedRows),
    })
    deepEqual(await purge.runOnce(), { deletedRows: 0, deletedIdempotencyKeys: 0 })

    clock.now += 7 * dayMs + 1
    progress.length = 0
    equal((await purge.runOnce()).deletedRows, 1_200)
    deepEqual(progress.slice(0, 3), [500, 1_000, 1_200])
    equal(await store.people.count({}), 3)

    const thorough = new OutboxPurgeScheduler({ store, deadRetentionMs: dayMs })
    equal((await thorough.runOnce()).deletedRows, 3)
  })

  it('of a table that is only written removes old events of any state, and spares young ones', async (test) => {
    const { clock, store } = clockedStore()
    await insertSettled(store, 1, { kind: 'dead', failure: { error: 'x', counted: true } })
    const outbox = await Outbox.writerOnly({ store, logger: false }).start()
    const write = (type: string, options = {}) =>
      outbox.transaction(() => outbox.write(type, 1, { aggregateType: 'T', ...options }))
    await write('New')
    await write('Delayed', { deliverAfterMs: 30 * dayMs })
    clock.now += dayMs + 1
    await write('Young')

    const purged = Promise.withResolvers<number>()
    const purger = await Outbox.writerOnly({
      store,
      logger: false,
      purge: { ageMs: dayMs, onProgress: ({ deletedRows }) => purged.resolve(deletedRows) },
    }).start()
    test.after(() => Promise.all([outbox.close(), purger.close()]))
    equal(await purged.promise, 3)
    deepEqual(
      (await store.people.query({ limit: 9 })).map((row) => row.eventType),
      ['Young'],
    )
  })

  it('cannot be started after its end, refuses bad options, and throws by hand what it logs by itself', async () => {
    const store = { purge: () => Promise.reject(new Error('away')) }
    const log: string[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void log.push(line) }
    const purge = new OutboxPurgeScheduler({ store, logger })
    await rejects(purge.runOnce(), /away/)
    purge.start()
    purge.start()
    await purge.close()
    match(log.join('\n'), /^Purging failed and will be tried again\. Error: away$/)
    throws(() => purge.start(), { code: 'OUTBOX_CLOSED' })
    throws(() => new OutboxPurgeScheduler({ store, retention: 5 } as never), {
      code: 'OUTBOX_UNKNOWN_OPTION',
    })
    throws(() => new OutboxPurgeScheduler({ store, batchSize: 0 }), { code: 'OUTBOX_INVALID_OPTION' })
  })

  it('runs again after its interval', async () => {
    let runs = 0
    const twice = Promise.withResolvers<void>()
    const store = {
      async purge() {
        if (++runs === 2) twice.resolve()
        return { deletedRows: 0, deletedIdempotencyKeys: 0, cursor: undefined }
      },
    }
    const purge = new OutboxPurgeScheduler({ store, intervalMs: 5 })
    const alive = setInterval(() => {}, 1_000)
    purge.start()
    await twice.promise
    await purge.close()
    clearInterval(alive)
  })
})

onEveryStore(
  'an outbox purges by itself where that is asked for, and spares what is pending or dead',
  async (test, open, mode) => {
    const listeners = new ListenerRegistry()
      .register('Tested', () => {})
      .register('Dead', () => DispatchResult.dead())
    const purged = Promise.withResolvers<void>()
    const writer = await startOutbox(test, open(), { mode, listeners })
    await writeTested(writer.outbox, 1, 2)
    await writer.outbox.transaction(async () => {
      await writer.outbox.write('Dead', 1)
      await writer.outbox.write('Tested', 'later', { deliverAfterMs: 3_600_000 })
    })
    await writer.metrics.until((seen) => seen.dispatchSuccess === 2 && seen.dispatchDead === 1)
    await writer.outbox.close()
    await new Promise((resolve) => setTimeout(resolve, 3))

    const { store } = await startOutbox(test, open(), {
      mode,
      purge: { retentionMs: 1, onProgress: ({ deletedRows }) => deletedRows === 2 && purged.resolve() },
    })
    await purged.promise
    deepEqual(
      (await store.people.query({ limit: 9 })).map((row) => row.eventType),
      ['Dead', 'Tested'],
    )
  },
)
