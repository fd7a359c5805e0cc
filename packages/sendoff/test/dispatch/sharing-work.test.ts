import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BoundedQueue } from '../../src/delivery/bounded-queue.ts'
import { PollerWakeUps } from '../../src/wake/poller-wake-ups.ts'
import type { Delivery } from '../../src/delivery/delivery.ts'
import { Prefetch } from '../../src/dispatch/prefetch.ts'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { InMemoryMetrics } from '../../src/observe/metrics.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { insertRows } from '../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../src/testing/store-checks/sample-rows.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStoreOnce, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'
import { storeKinds } from '../fixtures/stores.ts'
import { testSharingWork } from './sharing-work-suite.ts'

const tested = { eventType: 'Tested', aggregateType: '__GLOBAL__' }

describe('sharing work', { concurrency: true }, () => storeKinds.forEach(testSharingWork))

onEveryStoreOnce('fast listeners are served by claims that double up to 500 rows', async (test, open) => {
  const real = open()
  await real.migrate()
  await insertRows(real, sampleRows(3_000, tested))
  const limits: number[] = []
  const store = faultyStore(real, {
    claim(claim, request) {
      limits.push(request.limit)
      return claim(request)
    },
  })
  const { metrics } = await startOutbox(test, store)
  await metrics.until((seen) => seen.dispatchSuccess === 3_000)

  deepEqual(limits.slice(0, 9), [50, 100, 200, 400, 500, 500, 500, 500, 500])
  ok(limits.length <= 10, limits.join())
})

onEveryStoreOnce('what waits behind listeners that hang goes to another worker', async (test, open) => {
  const first = await startOutbox(test, open(), {
    listener: new RecordingListener(() => mayEnd.passed),
    poller: { intervalMs: 20 },
  })
  const mayEnd = new Gate()
  test.after(() => mayEnd.open())
  await writeTested(first.outbox, ...Array.from({ length: 100 }, (_, index) => index))
  await first.listener.called(4)
  const second = await startOutbox(test, open(), { poller: { intervalMs: 20 } })
  await second.metrics.until((seen) => seen.dispatchSuccess >= 80)
  mayEnd.open()
  await first.metrics.until(() => first.metrics.dispatchSuccess + second.metrics.dispatchSuccess === 100)

  const ids = [...first.listener.ids, ...second.listener.ids]
  equal(ids.length, 100)
  equal(new Set(ids).size, 100)
})

it('a worker that is alone hands back once what would wait, and then takes what it has room for', async (test) => {
  const clock = fakeClock()
  const released: number[] = []
  let claimed = 0
  const store = faultyStore(memoryStore({ now: clock.now }), {
    release(release, rows) {
      released.push(rows.length)
      return release(rows)
    },
    async claim(claim, request) {
      const rows = await claim(request)
      claimed += rows.length
      return rows
    },
  })
  const listener = new RecordingListener(
    () => new Promise<void>((resolve) => void clock.schedule(500, resolve)),
  )
  const { outbox, metrics } = await startOutbox(test, store, { clock, listener })
  await writeTested(outbox, ...Array.from({ length: 100 }, (_, index) => index))
  for (let second = 0; second < 14; second++) await clock.advance(1_000)

  equal(metrics.dispatchSuccess, 100)
  equal(released.length, 1)
  ok(released[0]! > 60, `${released[0]}`)
  equal(claimed, released[0])
})

describe('what a worker prefetches', () => {
  function prefetchOf({ workerCount = 4, first = 50 } = {}) {
    const clock = fakeClock()
    const hotQueue = new BoundedQueue<Delivery>(1_000)
    const coldQueue = new BoundedQueue<Delivery>(1_000)
    const prefetch = new Prefetch({ hotQueue, coldQueue, workerCount, hotShare: 2, first, clock })
    return { clock, hotQueue, coldQueue, prefetch }
  }

  it('is one batch, and all of the hot queue, until it is known how long listeners take', () => {
    const { prefetch } = prefetchOf()
    equal(prefetch.coldLimit(0), 50)
    equal(prefetch.hotLimit(0), 1_000)
  })

  it('is what listeners can begin within a second, and at least one event for each worker', () => {
    const { prefetch } = prefetchOf()
    prefetch.began(0, 1)
    prefetch.ended(50, 50, 1)
    equal(prefetch.coldLimit(4), 80)
    for (let call = 0; call < 200; call++) prefetch.ended(50, 10_000, 1)
    equal(prefetch.coldLimit(4), 4)
    for (let call = 0; call < 200; call++) prefetch.ended(50, 0, 1)
    ok(prefetch.coldLimit(4) >= 1_000)
  })

  it('falls while all workers are busy and none ends', async () => {
    const { clock, prefetch } = prefetchOf()
    prefetch.ended(0, 0, 1)
    prefetch.began(0, 1)
    await clock.advance(100)
    equal(prefetch.coldLimit(4), 40)
    equal(prefetch.hotLimit(4), 40)
    equal(prefetch.coldLimit(3), Infinity)
  })

  it('has room for whole batches of a batch listener, whatever their number of events', () => {
    const { prefetch } = prefetchOf()
    prefetch.began(0, 100)
    prefetch.ended(10_000, 10_000, 100)
    equal(prefetch.coldLimit(4), 100)
    for (let call = 0; call < 100; call++) prefetch.ended(10_000, 1_000, 100)
    ok(prefetch.coldLimit(4) > 350)
  })

  it('is shared by both queues, and neither is left without', () => {
    const { hotQueue, coldQueue, prefetch } = prefetchOf()
    prefetch.ended(0, 20, 1)
    for (let place = 0; place < 180; place++) hotQueue.offer({} as Delivery)
    equal(prefetch.coldLimit(4), 67)
    for (let place = 0; place < 90; place++) coldQueue.offer({} as Delivery)
    equal(prefetch.hotLimit(4), 134)
  })
})

it('events that found no place in the hot queue are told of once a minute, and all are counted', async () => {
  const clock = fakeClock()
  const log: string[] = []
  const metrics = new InMemoryMetrics()
  const signals = new PollerWakeUps({
    clock,
    metrics,
    logger: { debug() {}, info() {}, warn: (text) => void log.push(text), error() {} },
    waker: { wake() {}, announce() {} },
  })
  const event = EventEnvelope.ofJson('Tested', '1')
  const left = [{ event, destination: '', partition: null, reason: 'full' as const }]
  for (let write = 0; write < 5; write++) signals.leftToPoller(left, true)
  await clock.advance(60_000)
  signals.leftToPoller(left, true)

  equal(metrics.hotDropped, 6)
  deepEqual(
    log.map((line) => /(\d+) events/.exec(line)![1]),
    ['1', '5'],
  )
})
