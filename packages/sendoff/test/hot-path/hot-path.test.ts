import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore(
  'a row is born with the lease of this process, so that no other takes it',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const { outbox, store, metrics } = await startOutbox(test, open(), { mode, listener, ownerId: 'writer' })
    const [id] = await writeTested(outbox, 1)
    await listener.called(1)

    const row = (await rowOf(store, id!))!
    match(row.lockedBy!, /^writer-/)
    equal(row.deliveries, 1)
    deepEqual(await store.claim({ lease: { owner: 'thief', ms: 1_000 }, limit: 10 }), [])
    gate.open()
    await metrics.until((seen) => seen.dispatchSuccess === 1)
  },
)

onEveryStore('a full hot queue loses no event, and no event waits for a lease', async (test, open, mode) => {
  const { outbox, listener, metrics, log } = await startOutbox(test, open(), { mode, hotQueueCapacity: 1 })
  const ids = await writeTested(outbox, 1, 2, 3, 4, 5)

  await metrics.until((seen) => seen.dispatchSuccess === 5)
  deepEqual(listener.ids.sort(), ids)
  equal(metrics.hotEnqueued, 1)
  equal(metrics.hotDropped, 4)
  match(log.join('\n'), /warn: The hot queue is full, or its listeners take long: 1 events/)
})

onEveryStore('places in the hot queue are free after a rollback', async (test, open, mode) => {
  const { outbox, metrics } = await startOutbox(test, open(), { mode, hotQueueCapacity: 1 })
  for (let round = 0; round < 3; round++) {
    await rejects(
      outbox.transaction(async () => {
        await outbox.write('Tested', round)
        throw new Error('no')
      }),
    )
  }
  await writeTested(outbox, 'kept')
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  equal(metrics.hotEnqueued, 1)
})

onEveryStore(
  'the place of a transaction that outlives its lease serves the next one',
  async (test, open, mode) => {
    const { outbox, listener, metrics } = await startOutbox(test, open(), {
      mode,
      hotQueueCapacity: 1,
      leaseMs: 500,
    })
    await outbox.transaction(async () => {
      await outbox.write('Tested', 'slow')
      await new Promise((resolve) => setTimeout(resolve, 520))
    })
    // It comes neither from memory, since another process might hold it, nor from the poller.
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(metrics.hotEnqueued, 1)

    await writeTested(outbox, 'next')
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    equal(metrics.hotEnqueued, 2)
    deepEqual(listener.payloads, ['slow', 'next'])
  },
)

onEveryStore(
  'the place of a write whose lease ran out serves the next write of the same transaction',
  async (test, open, mode) => {
    const leaseMs = 300
    const { outbox, metrics } = await startOutbox(test, open(), {
      mode,
      hotQueueCapacity: 1,
      leaseMs,
      poller: { intervalMs: 50 },
    })
    await outbox.transaction(async () => {
      await outbox.write('Tested', 'early')
      await new Promise((resolve) => setTimeout(resolve, leaseMs + 20))
      await outbox.write('Tested', 'late')
    })
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    equal(metrics.hotDropped, 0)
    equal(metrics.hotEnqueued >= 1, true)
  },
)

onEveryStore('places in the hot queue are free after a failed write', async (test, open, mode) => {
  let failures = 3
  const store = faultyStore(open(), {
    insert: (real, ...args) =>
      failures-- > 0 ? Promise.reject(new Error('the disk is full')) : real(...args),
  })
  const { outbox, metrics } = await startOutbox(test, store, { mode, hotQueueCapacity: 1 })
  await outbox.transaction(async () => {
    for (let round = 0; round < 3; round++) await rejects(outbox.write('Tested', round), /the disk is full/)
    await outbox.write('Tested', 'kept')
  })
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  equal(metrics.hotEnqueued, 1)
})

onEveryStore('a row without a listener in this process stays free', async (test, open, mode) => {
  const { outbox, store } = await startOutbox(test, open(), { mode, poller: { enabled: false } })
  const id = await outbox.transaction(() => outbox.write('Unknown', 1))
  const row = (await rowOf(store, id))!
  equal(row.lockedBy, null)
  equal(row.deliveries, 0)
})

onEveryStore('an event without a listener becomes DEAD with a reason', async (test, open, mode) => {
  const { outbox, store, metrics } = await startOutbox(test, open(), { mode })
  const id = await outbox.transaction(() => outbox.write('Unknown', 1))
  await metrics.until((seen) => seen.dispatchDead === 1)
  const row = (await rowOf(store, id))!
  equal(row.status, 3)
  equal(row.attempts, 0)
  match(row.lastError!, /^UnroutableEventError: No listener is registered for event type "Unknown"/)
})

onEveryStore(
  'an owner lets an event without a listener wait with onUnroutable: defer',
  async (test, open, mode) => {
    const old = await startOutbox(test, open(), {
      mode,
      onUnroutable: 'defer',
      unroutableDelayMs: 20,
    })
    const id = await old.outbox.transaction(() => old.outbox.write('Added', 1))
    await old.metrics.until((seen) => seen.dispatchDeferred >= 1)
    await old.outbox.close()

    const listener = new RecordingListener()
    const listeners = new ListenerRegistry().register('Added', listener)
    const { metrics } = await startOutbox(test, open(), { mode, listeners, poller: { intervalMs: 20 } })
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(listener.ids, [id])
  },
  ['singleNode'],
)

onEveryStore(
  'a delayed event waits for its time, and is then delivered without a poll interval',
  async (test, open, mode) => {
    const { outbox, listener, metrics } = await startOutbox(test, open(), { mode })
    const writtenAt = Date.now()
    await outbox.transaction(() => outbox.write('Tested', 'later', { deliverAfterMs: 80 }))
    await writeTested(outbox, 'now')

    await metrics.until((seen) => seen.dispatchSuccess === 2)
    deepEqual(listener.payloads, ['now', 'later'])
    equal(Date.now() - writtenAt >= 80, true)
    equal(metrics.hotSkippedDelayed, 1)
  },
)
