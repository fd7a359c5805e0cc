import { deepEqual, equal, ok } from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { EventStatus } from '../../src/store/event-status.ts'
import { InMemoryMetrics } from '../../src/observe/metrics.ts'
import type { Tracer } from '../../src/observe/tick-span.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { SingleWriterOptions } from '../../src/outbox/outbox-options.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStoreOnce, until, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const lockName = 'outbox-poller'
async function start(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  listener: RecordingListener,
  options: Partial<SingleWriterOptions<any, any>> = {},
): Promise<Outbox<any>> {
  const outbox = await Outbox.singleWriter<any>({
    store,
    listeners: new ListenerRegistry().register('Tested', listener),
    logger: false,
    drainTimeoutMs: 1_000,
    shutdownTimeoutMs: 1_000,
    ...options,
  }).start()
  test.after(() => outbox.close())
  return outbox
}

/** Writes events through a process that does not deliver. */
async function writeCold(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  ...payloads: unknown[]
): Promise<string[]> {
  const writer = await Outbox.writerOnly<any>({ store, logger: false }).start()
  test.after(() => writer.close())
  return writeTested(writer, ...payloads)
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

onEveryStoreOnce('a tick sends the due events, oldest first, and releases the lock', async (test, open) => {
  const store = open()
  const listener = new RecordingListener()
  const outbox = await start(test, store, listener, { poller: { enabled: false } })
  await writeCold(test, open(), ...numbers(30))
  await outbox.poll()

  deepEqual(listener.payloads, numbers(30))
  equal(await store.people.count({ status: [EventStatus.DONE] }), 30)
  equal(await store.locks.acquire({ lock: lockName, token: 'me', ttlMs: 1_000 }), true)
})

onEveryStoreOnce('a tick is skipped while another replica holds the lock', async (test, open) => {
  const store = open()
  const listener = new RecordingListener()
  const outbox = await start(test, store, listener, { poller: { enabled: false } })
  await writeCold(test, open(), 1)
  await store.locks.acquire({ lock: lockName, token: 'another', ttlMs: 60_000 })
  await outbox.poll()
  deepEqual(listener.payloads, [])

  await store.locks.release({ lock: lockName, token: 'another' })
  await outbox.poll()
  deepEqual(listener.payloads, [1])
})

onEveryStoreOnce('the lock has the name of its option', async (test, open) => {
  const store = open()
  const listener = new RecordingListener()
  const outbox = await start(test, store, listener, { poller: { enabled: false }, lock: { name: 'relay' } })
  await writeCold(test, open(), 1)
  await store.locks.acquire({ lock: 'relay', token: 'another', ttlMs: 60_000 })
  await outbox.poll()
  equal(listener.events.length, 0)
})

onEveryStoreOnce('a batch that takes longer than the lock lasts renews it', async (test, open) => {
  const store = open()
  const listener = new RecordingListener(() => new Promise((resolve) => setTimeout(resolve, 20)))
  const outbox = await start(test, store, listener, { poller: { enabled: false }, lock: { ttlMs: 1_000 } })
  await writeCold(test, open(), ...numbers(70))
  await outbox.poll()

  deepEqual(listener.payloads, numbers(70))
  equal(await store.people.count({ status: [EventStatus.DONE] }), 70)
})

onEveryStoreOnce('a lock that is lost in the middle of a batch stops it at once', async (test, open) => {
  const store = open()
  const watched = watchingLocks(store)
  const listener = new RecordingListener(async (event, { signal }) => {
    if (event.payload !== 3 || listener.events.length > 4) return
    await until(
      async () => signal.aborted || (await store.people.count({ status: [EventStatus.DONE] })) === 3,
    )
    // The lock is deleted, and another replica takes it.
    await store.locks.release({ lock: lockName, token: watched.token() })
    equal(await store.locks.acquire({ lock: lockName, token: 'thief', ttlMs: 60_000 }), true)
    await until(() => signal.aborted)
  })
  const outbox = await start(test, watched.store, listener, {
    poller: { enabled: false },
    lock: { ttlMs: 2_000 },
  })
  await writeCold(test, open(), ...numbers(20))
  await outbox.poll()

  deepEqual(listener.payloads, [0, 1, 2, 3], 'nothing after the one that was being sent')
  equal(await store.people.count({ status: [EventStatus.DONE] }), 3)

  await store.locks.release({ lock: lockName, token: 'thief' })
  await outbox.poll()
  deepEqual(listener.payloads, numbers(20), 'whose result is known, so that its listener need not run again')
})

onEveryStoreOnce('a refused settlement shows that the lock was lost', async (test, open) => {
  const store = open()
  const watched = watchingLocks(store)
  const lost = Promise.withResolvers<void>()
  const warn = (message: string) => message.includes('was lost') && lost.resolve()
  const listener = new RecordingListener(async (event) => {
    if (listener.events.length > 5) return
    if (event.payload === 3) {
      await until(async () => (await store.people.count({ status: [EventStatus.DONE] })) === 3)
      await store.locks.release({ lock: lockName, token: watched.token() })
      equal(await store.locks.acquire({ lock: lockName, token: 'thief', ttlMs: 60_000 }), true)
    }
    // It began while the settlement before it was under way.
    if (event.payload === 4) await lost.promise
  })
  const outbox = await start(test, watched.store, listener, {
    poller: { enabled: false },
    logger: { debug() {}, info() {}, warn, error() {} },
    lock: { ttlMs: 60_000 },
  })
  await writeCold(test, open(), ...numbers(20))
  await outbox.poll()
  deepEqual(listener.payloads, [0, 1, 2, 3, 4], 'long before the lock would have been renewed')

  await store.locks.release({ lock: lockName, token: 'thief' })
  await outbox.poll()
  deepEqual(listener.payloads, numbers(20))
})

onEveryStoreOnce('failed events come again later, and do not hold up others', async (test, open) => {
  const store = open()
  const listener = new RecordingListener((event) => {
    if ((event.payload as number) < 5) throw new Error('no')
  })
  const outbox = await start(test, store, listener, {
    poller: { enabled: false, batchSize: 5, maxBatchSize: 5 },
    retryPolicy: fixedDelay(60_000),
  })
  await writeCold(test, open(), ...numbers(10))
  await outbox.poll()
  await outbox.poll()
  deepEqual(listener.payloads, numbers(10))
})

onEveryStoreOnce('every tick has a span with its results', async (test, open) => {
  const spans: Record<string, unknown>[] = []
  const tracer: Tracer = {
    startSpan(name) {
      const span: Record<string, unknown> = { name }
      return {
        setAttribute: (key, value) => (span[key] = value),
        recordException: (error) => void (span.error = error.message),
        end: () => void spans.push(span),
      }
    },
  }
  const listener = new RecordingListener((event) => {
    if (event.payload === 1) throw new Error('no')
  })
  const outbox = await start(test, open(), listener, { poller: { enabled: false }, tracer })
  await outbox.poll()
  await writeCold(test, open(), 0, 1, 2)
  await outbox.poll()
  deepEqual(spans, [
    { name: 'outbox.poller.tick', 'batch.size': 0, 'success.count': 0, 'failure.count': 0 },
    { name: 'outbox.poller.tick', 'batch.size': 3, 'success.count': 2, 'failure.count': 1 },
  ])
})

onEveryStoreOnce(
  'events are sent right after their commit, or left to the poller while that fails',
  async (test, open) => {
    const store = open()
    const metrics = new InMemoryMetrics()
    let isDown = false
    const listener = new RecordingListener(() => {
      if (isDown) throw new Error('The destination is down.')
    })
    const outbox = await start(test, store, listener, {
      metrics,
      poller: { enabled: false },
      retryPolicy: fixedDelay(1),
      maxAttempts: 1_000,
      circuitBreaker: { minimumCalls: 5, coolDownMs: 300 },
    })
    await writeTested(outbox, 'hot')
    await listener.called(1)
    equal(outbox.circuitBreakerState, 'closed')

    isDown = true
    await writeTested(outbox, ...numbers(5))
    await until(() => metrics.circuitBreakerState === 'open')
    const before = listener.events.length
    const [left] = await writeTested(outbox, 'cold')
    equal((await store.people.query({ eventId: left!, limit: 1 }))[0]?.lockedBy, null)
    deepEqual([metrics.hotBroken, listener.events.length], [1, before])

    isDown = false
    await until(async () => {
      await outbox.poll()
      await new Promise((resolve) => setTimeout(resolve, 10))
      return (await store.people.count({ status: [EventStatus.NEW, EventStatus.RETRY] })) === 0
    })
    await until(() => outbox.circuitBreakerState === 'halfOpen')
    await writeTested(outbox, 'again')
    await until(
      async () => (await store.people.count({ status: [EventStatus.NEW, EventStatus.RETRY] })) === 0,
    )
    equal(outbox.circuitBreakerState, 'closed')
    ok(listener.payloads.includes('again'))
  },
)

onEveryStoreOnce(
  'the poller pauses after a hundred failures in a row, until a delivery succeeds',
  async (test, open) => {
    let isDown = true
    const rests = Promise.withResolvers<void>()
    const listener = new RecordingListener(() => {
      if (listener.events.length === 100) rests.resolve()
      if (isDown) throw new Error('The destination is down.')
    })
    const outbox = await start(test, open(), listener, {
      poller: { intervalMs: 10 },
      retryPolicy: fixedDelay(1),
      maxAttempts: 1_000,
      circuitBreaker: { coolDownMs: 60_000 },
    })
    await writeCold(test, open(), ...numbers(150))
    await rests.promise
    // As long as what is left would take.
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
    equal(listener.events.length, 100)
    isDown = false
    await writeTested(outbox, 'hot')
    await until(() => new Set(listener.payloads).size === 151)
  },
)

onEveryStoreOnce(
  'while the store does not answer, no more than 500 results are unsettled',
  async (test, open) => {
    const answers = new Gate()
    const store = faultyStore(open(), {
      settle: (real, ...args) => answers.passed.then(() => real(...args)),
    })
    const enough = Promise.withResolvers<void>()
    const listener = new RecordingListener(() => {
      if (listener.events.length === 500) enough.resolve()
    })
    const outbox = await start(test, store, listener, {
      poller: { enabled: false, batchSize: 600, maxBatchSize: 600 },
    })
    await writeCold(test, open(), ...numbers(600))
    const tick = outbox.poll()
    await enough.promise
    // As long as what is left would take.
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
    equal(listener.events.length, 500)
    answers.open()
    await tick
    deepEqual(listener.payloads, numbers(600))
  },
)

onEveryStoreOnce('circuitBreaker: false turns the circuit breaker off', async (test, open) => {
  const outbox = await start(test, open(), new RecordingListener(), { circuitBreaker: false })
  equal(outbox.circuitBreakerState, undefined)
})

onEveryStoreOnce('of two replicas, one sends at a time, and no event is sent twice', async (test, open) => {
  const running = new Set<string>()
  const listenerOf = (name: string) =>
    new RecordingListener(async () => {
      ok(![...running].some((other) => other !== name), 'two replicas at once')
      running.add(name)
      await new Promise((resolve) => setImmediate(resolve))
      running.delete(name)
    })
  const listeners = [listenerOf('a'), listenerOf('b')]
  const poller = { intervalMs: 10, busyIntervalMs: 10 }
  for (const listener of listeners) await start(test, open(), listener, { poller })
  for (let n = 0; n < 10; n++) await writeCold(test, open(), ...numbers(10).map((i) => n * 10 + i))
  await until(() => listeners.flatMap(({ payloads }) => payloads).length >= 100)

  deepEqual(
    listeners.flatMap(({ payloads }) => payloads as number[]).toSorted((a, b) => a - b),
    numbers(100),
  )
})

/** A store that records the token of the last lock taken through it. */
function watchingLocks(store: StoreWith<any, 'people'>): {
  store: StoreWith<any, 'people'>
  token: () => string
} {
  let token = ''
  const locks: StoreWith<any, 'people'>['locks'] = {
    ...store.locks,
    async acquire(request) {
      const isTaken = await store.locks.acquire(request)
      if (isTaken) token = request.token
      return isTaken
    },
  }
  const watched = new Proxy(store, {
    get: (target, name) => (name === 'locks' ? locks : (Reflect.get(target, name) as unknown)),
  })
  return { store: watched, token: () => token }
}
