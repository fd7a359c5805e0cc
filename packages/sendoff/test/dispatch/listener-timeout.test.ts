import { deepEqual, equal, match } from 'node:assert/strict'
import { exponentialBackoff } from '../../src/retry/exponential-backoff.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { Gate } from '../fixtures/gate.ts'
import {
  onEveryStore,
  onEveryStoreOnce,
  rowOf,
  startOutbox,
  writeTested,
} from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const retryPolicy = exponentialBackoff({ baseDelayMs: 1, maxDelayMs: 2 })

onEveryStore(
  'a listener that takes too long is told to stop, and its event is tried again',
  async (test, open, mode) => {
    const listener = new RecordingListener(async (_, { attempt, signal }) => {
      if (attempt > 1) return
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    })
    const { outbox, store, metrics } = await startOutbox(test, open(), {
      mode,
      listener,
      retryPolicy,
      listenerTimeoutMs: 20,
    })
    const [id] = await writeTested(outbox, 1)

    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(metrics.dispatchFailure, 1)
    const [attempt] = await store.people.attempts({ eventId: id!, destination: '' })
    match(attempt!.error, /^OutboxError: The listener for event .+ took longer than its 20 ms\.$/)
  },
)

onEveryStore('a listener that ends well after its time is believed', async (test, open, mode) => {
  const listener = new RecordingListener((_, { signal }) => {
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
  })
  const { outbox, metrics } = await startOutbox(test, open(), { mode, listener, listenerTimeoutMs: 20 })
  await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  equal(listener.events.length, 1)
})

onEveryStore(
  'a listener that ignores its signal keeps its slot until it is given up',
  async (test, open, mode) => {
    const listener = new RecordingListener((event) =>
      event.payload === 'hang' ? new Promise(() => {}) : undefined,
    )
    const { outbox, store, metrics, log } = await startOutbox(test, open(), {
      mode,
      listener,
      workerCount: 1,
      leaseMs: 60,
      listenerTimeoutMs: 20,
      maxAttempts: 1,
      shutdownTimeoutMs: 1,
    })
    const [hanging] = await writeTested(outbox, 'hang')
    await listener.called(1)
    await writeTested(outbox, 'next')
    deepEqual(listener.payloads, ['hang'])

    await metrics.until((seen) => seen.dispatchSuccess === 1 && seen.dispatchDead === 1)
    deepEqual(listener.payloads, ['hang', 'next'])
    match((await rowOf(store, hanging!))!.lastError!, /took longer than its/)
    match(log.join('\n'), /did not stop .* and was given up/)
  },
)

for (const hanging of ['when', 'map'] as const) {
  onEveryStoreOnce(`a "${hanging}" that hangs is named in place of the listener`, async (test, open) => {
    for (const isBatch of [false, true]) {
      const listener = new RecordingListener()
      const own = isBatch ? { onEvents: () => {} } : listener
      const { outbox, store, metrics, log } = await startOutbox(test, open(), {
        listeners: new ListenerRegistry().register('Tested', own, { destination: 'mail' }),
        routing: {
          version: 1,
          destinations: { mail: { maxAttempts: 1, timeoutMs: 20 } },
          rules: [{ to: 'mail', [hanging]: () => new Promise<never>(() => {}) }],
        },
        timeoutGraceMs: 20,
        shutdownTimeoutMs: 1,
      })
      const [id] = await writeTested(outbox, 1)
      await metrics.until((seen) => seen.dispatchDead === 1)
      equal(listener.events.length, 0)
      const expected = `A "when" or "map" of the routing for event ${id} (Tested) took longer than its 20 ms.`
      equal((await rowOf(store, id!))!.lastError, `OutboxError: ${expected}`)
      match(
        log.join('\n'),
        /A "when" or "map" of the routing for event \S+ \(Tested\) did not stop 20 ms after/,
      )
      await outbox.close()
    }
  })
}

onEveryStore(
  'the slot of a listener that ignores its signal stays occupied for the time of a lease',
  async (test, open, mode) => {
    const abortedAt = Promise.withResolvers<number>()
    const nextAt = Promise.withResolvers<number>()
    const listener = new RecordingListener((event, { signal }) => {
      if (event.payload === 'next') return nextAt.resolve(performance.now())
      signal.addEventListener('abort', () => abortedAt.resolve(performance.now()))
      return new Promise(() => {})
    })
    const { outbox } = await startOutbox(test, open(), {
      mode,
      listener,
      workerCount: 1,
      leaseMs: 300,
      listenerTimeoutMs: 20,
      shutdownTimeoutMs: 1,
      poller: { intervalMs: 50 },
    })
    await writeTested(outbox, 'hang', 'next')
    const occupiedMs = (await nextAt.promise) - (await abortedAt.promise)
    equal(occupiedMs > 295, true, `${occupiedMs} ms`)
  },
)

onEveryStore(
  'a listener that returns after it was given up changes nothing any more',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener((event) => (event.payload === 'late' ? gate.passed : undefined))
    const { outbox, store, metrics } = await startOutbox(test, open(), {
      mode,
      listener,
      leaseMs: 200,
      listenerTimeoutMs: 20,
      maxAttempts: 1,
      poller: { intervalMs: 50 },
    })
    const [late] = await writeTested(outbox, 'late')
    await metrics.until((seen) => seen.dispatchDead === 1)
    gate.open()
    await writeTested(outbox, 'other')

    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(metrics.settlementRefused, 0)
    equal((await rowOf(store, late!))!.status, 3)
  },
)

onEveryStore("a listener's own time limit goes before the outbox's", async (test, open, mode) => {
  const listener = new RecordingListener((_, { signal }) => {
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
  })
  const { outbox, metrics } = await startOutbox(test, open(), {
    mode,
    listeners: new ListenerRegistry().register('Tested', listener, { timeoutMs: 20 }),
    listenerTimeoutMs: 600_000,
  })
  await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchSuccess === 1)
})

onEveryStore(
  'a listener that fails because its time was up is recorded as timed out, whatever it throws',
  async (test, open, mode) => {
    const listener = new RecordingListener(async (_, { signal }) => {
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(new Error('socket hang up'))),
      )
    })
    const { outbox, store, metrics } = await startOutbox(test, open(), {
      mode,
      listener,
      listenerTimeoutMs: 20,
      maxAttempts: 1,
    })
    const [id] = await writeTested(outbox, 1)
    await metrics.until((seen) => seen.dispatchDead === 1)
    match(
      (await rowOf(store, id!))!.lastError!,
      /^OutboxError: The listener for event .+ took longer than its 20 ms\.$/,
    )
  },
)
