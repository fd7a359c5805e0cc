import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { onEveryStoreOnce, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { Gate } from '../fixtures/gate.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

async function startOrdered(
  test: any,
  store: StoreWith<any, 'people'>,
  listener: RecordingListener,
  options: object = {},
) {
  const outbox = await Outbox.ordered<any>({
    store,
    listeners: new ListenerRegistry().register('Tested', listener),
    logger: false,
    poller: { intervalMs: 20 },
    ...options,
  }).start()
  test.after(() => outbox.close())
  return outbox
}

onEveryStoreOnce('ordered delivers one event after the other, in write order', async (test, open) => {
  let running = 0
  let most = 0
  const listener = new RecordingListener(async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setImmediate(resolve))
    running--
  })
  const outbox = await startOrdered(test, open(), listener)
  const numbers = Array.from({ length: 120 }, (_, n) => n)
  for (let n = 0; n < 120; n += 10) await writeTested(outbox, ...numbers.slice(n, n + 10))
  await outbox.drain()
  deepEqual(listener.payloads, numbers)
  equal(most, 1)
})

onEveryStoreOnce('ordered delivers events written meanwhile without a poll interval', async (test, open) => {
  const gate = new Gate()
  const listener = new RecordingListener(({ payload }) => (payload === 1 ? gate.passed : undefined))
  const outbox = await startOrdered(test, open(), listener, {
    poller: { intervalMs: 600_000, busyIntervalMs: 600_000 },
  })
  await writeTested(outbox, 1)
  await listener.called(1)
  await writeTested(outbox, 2)
  gate.open()
  await listener.called(2)
})

onEveryStoreOnce('ordered gives an event one attempt by default', async (test, open) => {
  const listener = new RecordingListener(() => Promise.reject(new Error('no')))
  const once = await startOrdered(test, open(), listener)
  await writeTested(once, 1)
  await once.drain()
  equal(await once.deadEvents.count(), 1)
  equal(listener.events.length, 1)
  await once.close()

  const twice = await startOrdered(test, open(), listener, { maxAttempts: 2, retryPolicy: fixedDelay(1) })
  await writeTested(twice, 2)
  while ((await twice.deadEvents.count()) < 2) await twice.drain()
  equal(listener.events.length, 3)
})

onEveryStoreOnce('ordered keeps write order even if a clock was set back', async (test, open) => {
  const store = open()
  await store.migrate()
  const rows = [30, 20, 10].map((age) => ({
    ...EventEnvelope.ofJson('Tested', String(age)).toRow(false),
    due: { at: Date.now() - 1_000 + age },
  }))
  await store.transaction((tx) => store.insert({ tx, rows, lease: { owner: '', ms: 0 } }))
  const listener = new RecordingListener()
  const outbox = await startOrdered(test, store, listener)
  await outbox.drain()
  deepEqual(listener.payloads, [30, 20, 10])
})

onEveryStoreOnce('a writer only writes, and other processes deliver', async (test, open) => {
  const writer = await Outbox.writerOnly<any>({ store: open(), logger: false }).start()
  test.after(() => writer.close())
  const ids = await writeTested(writer, 1, 2)
  for (const delivering of ['poll', 'drain', 'wake', 'on']) equal(delivering in writer, false)
  const { listener, metrics } = await startOutbox(test, open())
  await metrics.until((seen) => seen.dispatchSuccess === 2)
  deepEqual(listener.ids, ids)
})

onEveryStoreOnce('modes that would break each other’s promises cannot run together', async (test, open) => {
  const { outbox } = await startOutbox(test, open(), { mode: 'singleNode', ownerId: 'first' })
  const listeners = new ListenerRegistry()
  const other = Outbox.multiNode<any>({ store: open(), listeners, logger: false })
  await rejects(other.start(), (error: Error & { code: string }) => {
    equal(error.code, 'OUTBOX_MODE_CONFLICT')
    match(error.message, /mode "multiNode", but first-\w+ uses it in mode "singleNode"/)
    return true
  })
  // A second process of the same mode may start, and so may a writer. A writer that purges by age may not.
  await startOutbox(test, open(), { mode: 'singleNode' })
  const writer = await Outbox.writerOnly<any>({ store: open(), logger: false }).start()
  test.after(() => writer.close())
  const purger = Outbox.writerOnly<any>({ store: open(), logger: false, purge: { ageMs: 1_000 } })
  await rejects(purger.start(), { code: 'OUTBOX_MODE_CONFLICT' })
  await outbox.close()
})

onEveryStoreOnce('the mode can change when no process uses the table any more', async (test, open) => {
  const first = await startOutbox(test, open(), { mode: 'singleNode' })
  await first.outbox.close()
  await startOutbox(test, open(), { mode: 'multiNode' })
})

describe('presets', () => {
  const store = memoryStore()
  const listeners = new ListenerRegistry()

  it('refuse options that their mode does not have', () => {
    const refused = (make: () => unknown, name: string) =>
      throws(make, { code: 'OUTBOX_UNKNOWN_OPTION', message: new RegExp(`no option "${name}"`) })
    // @ts-expect-error ordered has one worker
    refused(() => Outbox.ordered({ store, listeners, workerCount: 2 }), 'workerCount')
    // @ts-expect-error ordered has no hot path
    refused(() => Outbox.ordered({ store, listeners, hotQueueCapacity: 2 }), 'hotQueueCapacity')
    // @ts-expect-error a writer has no listeners
    refused(() => Outbox.writerOnly({ store, listeners }), 'listeners')
    // @ts-expect-error age-based purge is for tables that no worker reads
    refused(() => Outbox.multiNode({ store, listeners, purge: { ageMs: 5 } }), 'ageMs')
    // @ts-expect-error no such stage
    refused(() => Outbox.multiNode({ store, listeners, processors: { secondary: {} } }), 'secondary')
  })

  it('close at the end of the block they were declared in', async () => {
    const outbox = await Outbox.singleNode({ store, listeners, logger: false }).start()
    await outbox[Symbol.asyncDispose]()
    await rejects(outbox.write('A', 1), { code: 'OUTBOX_CLOSED' })
  })

  it('can be started again after a start that failed', async () => {
    let away = true
    const failing = new Proxy(memoryStore(), {
      get: (target, name) =>
        name === 'migrate' && away ? () => Promise.reject(new Error('away')) : (target as any)[name],
    })
    const outbox = Outbox.singleNode({ store: failing, listeners, logger: false })
    await rejects(outbox.start(), /away/)
    away = false
    await outbox.start()
    await rejects(outbox.start(), /started already/)
    await outbox.close()
  })
})
