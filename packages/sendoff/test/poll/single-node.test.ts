import { deepEqual, equal, match } from 'node:assert/strict'
import type { PollRequest } from '../../src/store/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const mode = 'singleNode'

onEveryStore(
  'the owner reads without claims',
  async (test, open) => {
    let claims = 0
    const store = faultyStore(open(), {
      claim(real, request) {
        claims++
        return real(request)
      },
    })
    const { outbox, metrics } = await startOutbox(test, store, { mode, hotQueueCapacity: 1 })
    await writeTested(outbox, 1, 2, 3, 4)
    await metrics.until((seen) => seen.dispatchSuccess === 4)
    equal(metrics.coldEnqueued, 3)
    equal(claims, 0)
  },
  [mode],
)

onEveryStore(
  'a second process delivers its own hot events and waits with the rest',
  async (test, open) => {
    const owner = await startOutbox(test, open(), { mode })
    await writeTested(owner.outbox, 'first')
    await owner.metrics.until((seen) => seen.dispatchSuccess === 1)

    const second = await startOutbox(test, open(), { mode, hotQueueCapacity: 1, poller: { intervalMs: 5 } })
    await writeTested(second.outbox, 'hot', 'cold')
    await second.metrics.until((seen) => seen.dispatchSuccess === 1)
    await owner.outbox.poll()
    await owner.metrics.until((seen) => seen.dispatchSuccess === 2)
    deepEqual(second.listener.payloads, ['hot'])
    deepEqual(owner.listener.payloads, ['first', 'cold'])

    await writeTested(second.outbox, 'hot', 'left')
    await owner.outbox.close()
    await second.metrics.until((seen) => seen.dispatchSuccess === 3)
    deepEqual(second.listener.payloads.sort(), ['hot', 'hot', 'left'])
  },
  [mode],
)

onEveryStore(
  'what a vanished owner had in hand counts as lost, and nothing else does',
  async (test, open) => {
    const never = new RecordingListener(() => new Promise(() => {}))
    // An owner that stops answering: it neither renews nor settles nor releases, nor takes the lock a second time.
    const silence = () => new Promise<never>(() => {})
    const real = open()
    let asked = 0
    const vanished = faultyStore(real, {
      renew: silence,
      settle: silence,
      release: silence,
      locks: {
        acquire: (request) => (asked++ === 0 ? real.locks.acquire(request) : silence()),
        renew: silence,
        release: async () => {},
      },
    })
    const first = await startOutbox(test, vanished, {
      mode,
      listener: never,
      workerCount: 1,
      hotQueueCapacity: 1,
      leaseMs: 60,
      shutdownTimeoutMs: 1,
      drainTimeoutMs: 1,
    })
    const [hot, inHand] = await writeTested(first.outbox, 'hot', 'in hand')
    while (first.metrics.coldEnqueued < 1) await new Promise((resolve) => setImmediate(resolve))

    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const next = await startOutbox(test, open(), { mode, listener, poller: { intervalMs: 5 } })
    const [later] = await writeTested(next.outbox, 'later')
    await listener.called(3)
    const losses = await Promise.all(
      [hot, inHand, later].map(async (id) => (await rowOf(next.store, id!))!.losses),
    )
    deepEqual(losses, [1, 1, 0])
    gate.open()
    await next.metrics.until((seen) => seen.dispatchSuccess === 3)
  },
  [mode],
)

onEveryStore(
  'an owner that loses its lock stops what it read under it',
  async (test, open) => {
    const reasons: string[] = []
    const listener = new RecordingListener((event, { signal }) => {
      if (event.payload === 'hot') return
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as { code: string }).code)
          reject(signal.reason as Error)
        }),
      )
    })
    let token = ''
    const real = open()
    const store = faultyStore(real, {
      locks: {
        acquire(request) {
          token = request.token
          return real.locks.acquire(request)
        },
      },
    })
    const { outbox, metrics, log } = await startOutbox(test, store, {
      mode,
      listener,
      hotQueueCapacity: 1,
      leaseMs: 90,
    })
    const [, cold] = await writeTested(outbox, 'hot', 'cold')
    await listener.called(2)

    // Another process gets the lock, as if it had run out.
    await real.locks.release({ lock: 'outbox-poller', token })
    await real.locks.acquire({ lock: 'outbox-poller', token: 'thief', ttlMs: 60_000 })
    await metrics.until((seen) => seen.settlementRefused === 1)
    deepEqual(reasons, ['OUTBOX_LEASE_LOST'])
    equal((await rowOf(store, cold!))!.status, 0)
    match(log.join('\n'), /The lock "outbox-poller" was lost/)
  },
  [mode],
)

onEveryStore(
  'an owner that is told at a poll that its lock is gone stops at once',
  async (test, open) => {
    const reason = Promise.withResolvers<string>()
    const listener = new RecordingListener((event, { signal }) => {
      if (event.payload === 'hot') return
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          reason.resolve((signal.reason as { code: string }).code)
          reject(signal.reason as Error)
        }),
      )
    })
    let token = ''
    const real = open()
    const store = faultyStore(real, {
      locks: {
        acquire(request) {
          token = request.token
          return real.locks.acquire(request)
        },
      },
    })
    const { outbox } = await startOutbox(test, store, { mode, listener, hotQueueCapacity: 1 })
    await writeTested(outbox, 'hot', 'cold')
    await listener.called(2)

    await real.locks.release({ lock: 'outbox-poller', token })
    await real.locks.acquire({ lock: 'outbox-poller', token: 'thief', ttlMs: 60_000 })
    await outbox.poll()
    equal(await reason.promise, 'OUTBOX_LEASE_LOST')
  },
  [mode],
)

onEveryStore(
  'what was read under a lock that was lost is not settled under the next one',
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener(({ payload }) => (payload === 'hot' ? undefined : gate.passed))
    const tokens: string[] = []
    const real = open()
    const store = faultyStore(real, {
      locks: {
        acquire(request) {
          tokens.push(request.token)
          return real.locks.acquire(request)
        },
      },
    })
    const { outbox, metrics } = await startOutbox(test, store, { mode, listener, hotQueueCapacity: 1 })
    const [hot, cold] = await writeTested(outbox, 'hot', 'cold')
    await listener.called(2)

    // Another process may have held the lock in between.
    await real.locks.release({ lock: 'outbox-poller', token: tokens[0]! })
    await outbox.poll()
    await outbox.poll()
    equal(tokens.length, 2)
    gate.open()
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    equal(metrics.settlementRefused, 1)
    deepEqual(listener.ids, [hot, cold], 'its result is known')
  },
  [mode],
)

onEveryStore(
  'an owner records what it holds with every look, until it is settled',
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const held: PollRequest['held'][] = []
    const store = faultyStore(open(), {
      pollPending(real, request) {
        held.push(request.held)
        return real(request)
      },
    })
    const { outbox, metrics } = await startOutbox(test, store, { mode, listener, hotQueueCapacity: 1 })
    const [, first, , last] = await writeTested(outbox, 'hot', 1, 2, 3)
    await metrics.until((seen) => seen.coldEnqueued === 3)
    const [low, high] = await Promise.all(
      [first, last].map(async (id) => {
        const { availableAt, seq } = (await rowOf(store, id!))!
        return { availableAt, seq }
      }),
    )
    await outbox.poll()
    deepEqual(held.at(-1), { low, high })

    gate.open()
    await metrics.until((seen) => seen.dispatchSuccess === 4)
    await outbox.poll()
    equal(held.at(-1), null)
  },
  [mode],
)

onEveryStore(
  'what an owner holds does not hide what comes behind it',
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const { outbox, metrics } = await startOutbox(test, open(), {
      mode,
      listener,
      workerCount: 1,
      hotQueueCapacity: 1,
      poller: { intervalMs: 600_000, batchSize: 2, maxBatchSize: 2 },
    })
    await writeTested(outbox, 'hot', 1, 2, 3, 4)
    await metrics.until((seen) => seen.coldEnqueued === 4)
    // A look from the start again, which meets what is held first.
    await outbox.poll()
    await writeTested(outbox, 'hot', 5, 6)
    await metrics.until((seen) => seen.coldEnqueued === 6)
    gate.open()
    await metrics.until((seen) => seen.dispatchSuccess === 8)
    equal(new Set(listener.ids).size, 8)
  },
  [mode],
)

onEveryStore(
  'an owner that loses its lock and gets it back is its own successor, with a higher fencing token',
  async (test, open) => {
    const tokens: number[] = []
    const listener = new RecordingListener((event, { signal, fencingToken }) => {
      if (event.payload === 'hot') return
      if (tokens.push(fencingToken) > 1) return
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      )
    })
    const real = open()
    let renewals = 0
    const store = faultyStore(real, {
      locks: { renew: async (request) => renewals++ > 0 && real.locks.renew(request) },
      pollPending: async (poll, request) =>
        request.renewMs === undefined || renewals++ > 0 ? poll(request) : undefined,
    })
    const { outbox, metrics } = await startOutbox(test, store, {
      mode,
      listener,
      hotQueueCapacity: 1,
      leaseMs: 300,
      poller: { intervalMs: 20 },
    })
    await writeTested(outbox, 'hot', 'cold')
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    equal(tokens.length, 2)
    equal(tokens[1]! > tokens[0]!, true, `${tokens.join(' then ')}`)
  },
  [mode],
)

onEveryStore(
  'an owner that polls renews its lock on the way, and asks for nothing more',
  async (test, open) => {
    const real = open()
    let [polls, renewals] = [0, 0]
    const enough = Promise.withResolvers<void>()
    const store = faultyStore(real, {
      locks: {
        async renew(request) {
          renewals++
          return real.locks.renew(request)
        },
      },
      async pollPending(poll, request) {
        if (request.renewMs !== undefined && ++polls === 3) enough.resolve()
        return poll(request)
      },
    })
    const { log } = await startOutbox(test, store, { mode, leaseMs: 1_000, poller: { intervalMs: 20 } })
    await enough.promise
    equal(renewals, 0)
    deepEqual(log, [])
  },
  [mode],
)
