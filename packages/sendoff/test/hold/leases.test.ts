import { deepEqual, equal } from 'node:assert/strict'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore(
  'leases are renewed in one statement for everything held, queued rows included',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const renewals: number[] = []
    const fourth = new Gate()
    const store = faultyStore(open(), {
      async renew(real, request) {
        const lost = await real(request)
        if (renewals.push(request.rows.length) === 4) fourth.open()
        return lost
      },
    })
    const { outbox, metrics } = await startOutbox(test, store, {
      mode,
      listener,
      workerCount: 1,
      leaseMs: 300,
    })
    await writeTested(outbox, 1, 2, 3)
    await listener.called(1)

    // Four renewals take longer than the first lease, and still no other process gets any of the rows.
    await fourth.passed
    deepEqual(renewals, [3, 3, 3, 3])
    deepEqual(await store.claim({ lease: { owner: 'thief', ms: 1 }, limit: 10 }), [])
    gate.open()
    await metrics.until((seen) => seen.dispatchSuccess === 3)
    equal(listener.events.length, 3)
  },
)

onEveryStore(
  'a lease lost while queued keeps its event from starting here',
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const store = faultyStore(open(), { renew: () => Promise.reject(new Error('as good as stopped')) })
    const { outbox, metrics } = await startOutbox(test, store, {
      listener,
      workerCount: 1,
      leaseMs: 150,
      poller: { enabled: false },
    })
    const [running, queued] = await writeTested(outbox, 'running', 'queued')
    await listener.called(1)

    let taken: readonly { eventId: string }[] = []
    while (taken.length < 2)
      taken = [...taken, ...(await store.claim({ lease: { owner: 'thief', ms: 60_000 }, limit: 2 }))]
    gate.open()
    await metrics.until((seen) => seen.settlementRefused === 1)
    await new Promise((resolve) => setImmediate(resolve))
    deepEqual(listener.ids, [running])
    equal((await rowOf(store, queued!))?.lockedBy, 'thief')
  },
  ['multiNode'],
)

onEveryStore(
  'a listener is told when the lease is lost under it',
  async (test, open) => {
    const aborted = Promise.withResolvers<string>()
    const listener = new RecordingListener((_, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve((signal.reason as { code: string }).code))
      return aborted.promise.then(() => {})
    })
    const store = faultyStore(open(), { renew: async (_, { rows }) => rows })
    const { outbox } = await startOutbox(test, store, { listener, leaseMs: 600, poller: { enabled: false } })
    await writeTested(outbox, 1)
    equal(await aborted.promise, 'OUTBOX_LEASE_LOST')
  },
  ['multiNode'],
)

onEveryStore(
  'a database that cannot renew for a while costs nothing once it is back',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    let failures = 0
    const store = faultyStore(open(), {
      renew(real, ...args) {
        if (failures++ < 2) return Promise.reject(new Error('the database is away'))
        gate.open()
        return real(...args)
      },
    })
    const { outbox, metrics } = await startOutbox(test, store, {
      mode,
      listener,
      // Long enough for a busy machine: without a poller, a lapsed row would stay.
      leaseMs: 600,
      poller: { enabled: false },
    })
    await writeTested(outbox, 1)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(listener.events.length, 1)
  },
)

onEveryStore(
  'a process that claims its own lapsed row again carries on with it',
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const store = faultyStore(open(), { renew: async () => [] })
    const { outbox, metrics } = await startOutbox(test, store, {
      listener,
      leaseMs: 20,
      poller: { intervalMs: 5 },
    })
    const [id] = await writeTested(outbox, 1)
    await listener.called(1)
    while ((await rowOf(store, id!))!.deliveries < 3) await new Promise((resolve) => setTimeout(resolve, 5))
    gate.open()

    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(listener.events.length, 1)
    equal(metrics.settlementRefused, 0)
  },
  ['multiNode'],
)

onEveryStore(
  'an event that was lost while queued does not start, whatever time its lease had left',
  async (test, open) => {
    const listener = new RecordingListener((_, { signal }) => {
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
    })
    const store = faultyStore(open(), { renew: async (_, { rows }) => rows })
    const { outbox, metrics } = await startOutbox(test, store, {
      listener,
      workerCount: 1,
      leaseMs: 600,
      poller: { enabled: false },
    })
    const [running] = await writeTested(outbox, 'running', 'queued')
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(listener.ids, [running])
  },
  ['multiNode'],
)

onEveryStore(
  'a queued row that this process claims again starts under its new lease',
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const store = faultyStore(open(), { renew: () => Promise.reject(new Error('the database is away')) })
    const { outbox, metrics } = await startOutbox(test, store, {
      listener,
      workerCount: 1,
      leaseMs: 500,
      poller: { intervalMs: 5 },
    })
    const [, queued] = await writeTested(outbox, 'running', 'queued')
    while ((await rowOf(store, queued!))!.deliveries < 2)
      await new Promise((resolve) => setTimeout(resolve, 5))
    gate.open()

    await metrics.until((seen) => seen.dispatchSuccess === 2)
    // Born claimed, claimed again, settled: it was not dropped and claimed a third time.
    equal((await rowOf(store, queued!))!.deliveries, 3)
  },
  ['multiNode'],
)

onEveryStore(
  'a queued row whose lease ran out unnoticed is claimed again and delivered',
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener((event) => (event.payload === 'running' ? gate.passed : undefined))
    const store = faultyStore(open(), { renew: () => Promise.reject(new Error('the database is away')) })
    const { outbox, metrics } = await startOutbox(test, store, { listener, workerCount: 1, leaseMs: 400 })
    const [running, queued] = await writeTested(outbox, 'running', 'queued')
    await listener.called(1)
    const { lockedUntil } = (await rowOf(store, queued!))!
    while (Date.now() < lockedUntil! + 5) await new Promise((resolve) => setTimeout(resolve, 5))
    gate.open()

    await metrics.until((seen) => seen.dispatchSuccess === 2)
    deepEqual(listener.ids, [running, queued])
  },
  ['multiNode'],
)
