import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Outbox } from '../../src/outbox/outbox.ts'
import { TypedClaimSource } from '../../src/poll/typed-claim-source.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { ClaimTypesRequest } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { insertOne, insertRows, leaseOf, settleOne } from '../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../src/testing/store-checks/sample-rows.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { onEveryStoreOnce, startOutbox, until } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'
import { storeKinds } from '../fixtures/stores.ts'
import { testForeignTypes } from './foreign-types-suite.ts'

storeKinds.forEach(testForeignTypes)

onEveryStoreOnce(
  'a listener that is registered later gets the events that waited for it',
  async (test, open) => {
    const listener = new RecordingListener()
    const listeners = new ListenerRegistry()
    const { outbox, metrics } = await startOutbox(test, open(), {
      listeners,
      onUnroutable: 'defer',
      poller: { intervalMs: 20 },
    })
    const early = await outbox.transaction(() => outbox.write('Early', 1))
    await outbox.poll()
    listeners.register('Early', listener)
    await metrics.until((seen) => seen.dispatchSuccess === 1)

    const late = await outbox.transaction(() => outbox.write('Late', 2))
    listeners.registerDefault(listener)
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    deepEqual(listener.ids, [early, late])
  },
)

describe('a worker that leaves types to others', () => {
  const listeners = new ListenerRegistry().register('Order', 'Wanted', new RecordingListener())
  const wanted = { aggregateType: 'Order', eventType: 'Wanted' }
  const foreign = { aggregateType: 'Order', eventType: 'Foreign' }

  /** Each look through a window takes 10 ms. */
  async function sourceBehind(foreignRows: number) {
    const clock = fakeClock()
    const real = memoryStore({ now: clock.now })
    const looks: ClaimTypesRequest[] = []
    const wakes: number[] = []
    const store = faultyStore(real, {
      async claimTypes(claimTypes, request) {
        looks.push(request)
        await clock.advance(10)
        return claimTypes(request)
      },
    })
    const source = new TypedClaimSource({
      store,
      types: () => listeners.types,
      destination: '',
      hasOthers: () => false,
      clock,
      lease: leaseOf('a'),
      skipRecentMs: 0,
      intervalMs: 300,
      waker: { wake: (inMs = 0) => void wakes.push(inMs) },
    })
    await insertRows(real, sampleRows(foreignRows, foreign))
    const drain = async () => {
      const ids: string[] = []
      let hasNews = true
      for (;;) {
        const { deliveries, hasMore } = await source.fetch(500, hasNews)
        hasNews = false
        ids.push(...deliveries.map(({ row }) => row.eventId))
        for (const { held } of deliveries) await settleOne(real, held as never, { kind: 'done' })
        if (!hasMore) return ids
      }
    }
    return { clock, store: real, source, looks, wakes, drain }
  }

  it('looks at 100,000 rows of other types once, and then at what is due behind them', async () => {
    const { clock, store, looks, drain } = await sourceBehind(100_000)
    await clock.advance(1)
    const first = await insertOne(store, wanted)
    deepEqual(await drain(), [first.eventId])
    equal(looks.length, 51)

    looks.length = 0
    for (let round = 0; round < 5; round++) {
      await clock.advance(1)
      const { eventId } = await insertOne(store, wanted)
      deepEqual(await drain(), [eventId])
    }
    equal(looks.length, 5)
  })

  it('polls from the beginning again after an interval at the latest, and is woken for it', async () => {
    const { clock, store, wakes, drain } = await sourceBehind(4_000)
    const early = clock.now()
    await clock.advance(1)
    deepEqual(await drain(), [])
    // Committed late: it stands before the rows that were passed.
    const late = sampleRow({ ...wanted, due: { at: early - 1_000 } })
    await insertRows(store, [late])

    deepEqual(await drain(), [])
    equal(wakes.length, 1)
    ok(wakes[0]! <= 300, `${wakes[0]}`)
    await clock.advance(wakes[0]!)
    deepEqual(await drain(), [late.eventId])
  })

  it('polls from the beginning at once when somebody says that rows are due again', async () => {
    const { clock, store, source, drain } = await sourceBehind(4_000)
    const early = clock.now()
    await clock.advance(1)
    deepEqual(await drain(), [])
    const replayed = sampleRow({ ...wanted, due: { at: early - 1_000 } })
    await insertRows(store, [replayed])

    source.forgetWaiting()
    deepEqual(await drain(), [replayed.eventId])
  })
})

describe('an owner without a listener', () => {
  for (const mode of ['singleNode', 'singleWriter', 'ordered', 'partitioned'] as const) {
    it(`lets events wait, and names their type once, in ${mode}`, async (test: TestContext) => {
      const store = memoryStore()
      const log: string[] = []
      const listeners = new ListenerRegistry().register('Known', new RecordingListener())
      const outbox = await Outbox[mode]<any>({
        store,
        listeners,
        onUnroutable: 'defer',
        unroutableDelayMs: 10,
        poller: { intervalMs: 5 },
        logger: {
          debug() {},
          info() {},
          warn: (text) => void log.push(text),
          error: (text) => void log.push(text),
        },
      }).start()
      test.after(() => outbox.close())
      await outbox.transaction(async () => {
        await outbox.write('Unknown', 1)
        await outbox.write('Unknown', 2)
      })
      // Twice each: once deferred, they are read and deferred again. In order, only the first is read.
      const rows = mode === 'ordered' ? 1 : 2
      await until(async () => {
        const waiting = await store.people.query({ limit: 10 })
        return waiting.filter(({ deliveries }) => deliveries >= 2).length >= rows
      })
      const listener = new RecordingListener()
      listeners.register('Unknown', listener)
      await until(() => listener.ids.length === 2)

      equal(log.length, 1)
      match(
        log[0]!,
        /like all events of type "Unknown" of aggregate type "__GLOBAL__": this process has no listener/,
      )
      const isInOrder = mode === 'ordered' || mode === 'partitioned'
      equal(/in the same order wait as well/.test(log[0]!), isInOrder)
    })
  }
})
