import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import type { OwnerFence, StoreWith } from '../../src/store/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import {
  type FixtureOptions,
  onEveryStore,
  rowOf,
  startOutbox,
  until,
  writeTested,
} from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore(
  'a settlement that fails is retried, and is not taken for a failed listener',
  async (test, open, mode) => {
    let failures = 3
    const store = faultyStore(open(), {
      settle: (real, ...args) =>
        failures-- > 0 ? Promise.reject(new Error('the database is away')) : real(...args),
    })
    const { outbox, listener, metrics, log } = await startOutbox(test, store, { mode })
    const [id] = await writeTested(outbox, 1)

    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(listener.events.length, 1)
    equal((await rowOf(store, id!))?.attempts, 0)
    equal(log.length, 2)
    match(
      log[0]!,
      /^error: Settling event \w+ failed and will be tried again; what was delivered is kept\. Error: the database is away$/,
    )
    match(log[1]!, /^warn: The store answers again after .+\. 3 calls had failed\.$/)
  },
)

onEveryStore(
  'a settlement refused after an ambiguous error is not a lost lease',
  async (test, open, mode) => {
    let answered = false
    const store = faultyStore(open(), {
      async settle(real, ...args) {
        const refused = await real(...args)
        if (answered) return refused
        answered = true
        throw new Error('the answer got lost')
      },
    })
    const { outbox, listener, metrics } = await startOutbox(test, store, { mode })
    await writeTested(outbox, 1)

    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(metrics.settlementRefused, 0)
    equal(listener.events.length, 1)
  },
)

onEveryStore(
  'a settlement refused after one that failed, because the lease is lost, is a refusal',
  async (test, open, mode) => {
    let isStolen = false
    let stealing: Promise<void> | undefined
    const store: StoreWith<any, 'people'> = faultyStore(open(), {
      async settle(real, ...args) {
        if (isStolen) return real(...args)
        // The lease runs out during an outage, and another process takes the row.
        const thief = { owner: 'thief', ms: 60_000 }
        const keys = args[0].settlements.map(({ row }) => row)
        stealing ??= until(async () => {
          isStolen = (await store.claim({ lease: thief, limit: 1, rows: keys })).length === 1
          return isStolen
        })
        throw new Error('the database is away')
      },
      renew: async () => [],
    })
    const { outbox, metrics, log } = await startOutbox(test, store, { mode, leaseMs: 20 })
    const [id] = await writeTested(outbox, 1)

    await metrics.until((seen) => seen.settlementRefused === 1)
    equal(metrics.dispatchSuccess, 0)
    equal((await rowOf(store, id!))!.lockedBy, 'thief')
    match(log.join('\n'), /came too late and was refused/)
  },
  ['multiNode'],
)

onEveryStore(
  'an owner that loses its lock while it cannot settle, and gets it back, does not run its listeners again',
  async (test, open) => {
    let isAway = false
    let lastLock: OwnerFence | undefined
    const away = () => Promise.reject(new Error('the database is away'))
    const real = open()
    const store: StoreWith<any, 'people'> = faultyStore(real, {
      settle: (settle, ...args) => (isAway ? away() : settle(...args)),
      locks: {
        renew: (request) => (isAway ? away() : real.locks.renew(request)),
        async acquire(request) {
          const isGranted = isAway ? await away() : await real.locks.acquire(request)
          if (isGranted) lastLock = request
          return isGranted
        },
      },
      pollPending: (poll, request) => (isAway ? away() : poll(request)),
    })
    let isOver = false
    const lost = Promise.withResolvers<void>()
    // On a busy machine the lock may be lost before the first listener runs, too.
    const debug = (message: string) => isAway && message.includes('was lost') && lost.resolve()
    const listener = new RecordingListener(() => void (isAway = !isOver))
    const { outbox, metrics } = await startOutbox(test, store, {
      mode: 'singleWriter',
      listener,
      logger: { ...silentLogger, debug },
      leaseMs: 200,
      workerCount: 4,
      circuitBreaker: false,
      poller: { intervalMs: 10 },
    } as FixtureOptions)
    await outbox.transaction(() =>
      outbox.writeAll(
        Array.from({ length: 20 }, (_, n) =>
          EventEnvelope.of({ eventType: 'Tested', payloadJson: String(n), deliverAfterMs: 1 }),
        ),
      ),
    )
    await lost.promise
    // The lock lasts a little longer in the store than in the process. The test ends it there, too.
    await real.locks.release({ lock: lastLock!.lock, token: lastLock!.token })
    isOver = true
    isAway = false

    await metrics.until((seen) => seen.dispatchSuccess === 20)
    equal(new Set(listener.ids).size, listener.ids.length, 'no listener ran twice')
    equal(metrics.settlementRefused > 0, true)
  },
  ['singleNode'],
)

onEveryStore(
  'after an outage settlements go on with the first call that succeeds',
  async (test, open, mode) => {
    let failures = 0
    let isAway = true
    const store = faultyStore(open(), {
      settle: (real, ...args) => {
        if (!isAway) return real(...args)
        failures++
        return Promise.reject(new Error('the database is away'))
      },
      claim: (real, request) => (isAway ? Promise.reject(new Error('the database is away')) : real(request)),
      pollPending: (real, request) =>
        isAway ? Promise.reject(new Error('the database is away')) : real(request),
    })
    const clock = fakeClock()
    const { outbox, metrics, listener } = await startOutbox(test, store, {
      mode,
      clock,
      leaseMs: 10_000_000,
    })
    await writeTested(outbox, 1)
    await until(() => listener.events.length === 1)
    await until(async () => {
      await clock.advance(1_000)
      return failures >= 10
    })
    // Its pause is five seconds by now. Time stands still, and another call succeeds.
    isAway = false
    await outbox.poll()
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(failures, 10)
  },
)

onEveryStore(
  'an outcome that cannot be written is repeated by itself, and holds up no other',
  async (test, open, mode) => {
    const refusal = new Error('this one cannot be written')
    let batches = 0
    let attempts = 0
    let isMended = false
    let poison: string | undefined
    const store = faultyStore(open(), {
      settle: (real, ...args) => {
        batches++
        const isPoisoned = !isMended && args[0].settlements.some(({ row }) => row.eventId === poison)
        if (isPoisoned) attempts++
        return isPoisoned ? Promise.reject(refusal) : real(...args)
      },
    })
    const { outbox, metrics } = await startOutbox(test, store, { mode })
    const ids = await outbox.transaction(async () => {
      const written = await outbox.writeAll(
        Array.from({ length: 400 }, (_, n) => EventEnvelope.ofJson('Tested', String(n))),
      )
      poison = written[200]
      return written
    })
    await metrics.until((seen) => seen.dispatchSuccess === 399)
    equal((await rowOf(store, ids[200]!))!.status, 0)

    batches = attempts = 0
    for (let turn = 0; turn < 20; turn++) {
      await writeTested(outbox, ...Array.from({ length: 20 }, (_, n) => n))
      await metrics.until((seen) => seen.dispatchSuccess === 399 + (turn + 1) * 20)
    }
    ok(attempts <= 12, `${attempts} of ${batches} batches held it`)
    isMended = true
    await metrics.until((seen) => seen.dispatchSuccess === 800)
  },
)

onEveryStore(
  'a failure whose settlement was written but not answered is counted once',
  async (test, open) => {
    const listener = new RecordingListener(() => Promise.reject(new Error('never works')))
    let answered = false
    const store = faultyStore(open(), {
      async settle(real, ...args) {
        const refused = await real(...args)
        if (answered) return refused
        answered = true
        // Written, claimed a second time, and only then repeated: with the fence of that claim.
        while ((await rowOf(store, args[0].settlements[0]!.row.eventId))!.deliveries < 3)
          await new Promise((resolve) => setTimeout(resolve, 5))
        throw new Error('the answer got lost')
      },
    })
    const { outbox, metrics } = await startOutbox(test, store, {
      listener,
      retryPolicy: fixedDelay(1),
      maxAttempts: 2,
      poller: { intervalMs: 5 },
    })
    const [id] = await writeTested(outbox, 1)

    await metrics.until((seen) => seen.dispatchDead === 1)
    equal(listener.events.length, 2)
    equal((await rowOf(store, id!))?.attempts, 2)
  },
  ['multiNode'],
)

onEveryStore(
  'a holder whose lease was taken over cannot settle, and says so',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    // No renewals: this process is as good as stopped.
    const store = faultyStore(open(), { renew: async () => [] })
    const { outbox, metrics, log } = await startOutbox(test, store, { mode, listener, leaseMs: 20 })
    const [id] = await writeTested(outbox, 1)
    await listener.called(1)

    const thief = { owner: 'thief', ms: 60_000 }
    let taken: readonly unknown[] = []
    while (taken.length === 0) taken = await store.claim({ lease: thief, limit: 1 })
    gate.open()

    await metrics.until((seen) => seen.settlementRefused === 1)
    const row = (await rowOf(store, id!))!
    equal(row.status, 0)
    equal(row.lockedBy, 'thief')
    match(log.join('\n'), /came too late and was refused/)
  },
  ['multiNode'],
)

onEveryStore('many outcomes are settled in few statements', async (test, open, mode) => {
  let statements = 0
  const store = faultyStore(open(), {
    settle(real, ...args) {
      statements++
      return real(...args)
    },
  })
  const { outbox, metrics } = await startOutbox(test, store, { mode })
  await writeTested(outbox, ...Array.from({ length: 300 }, (_, n) => n))
  await metrics.until((seen) => seen.dispatchSuccess === 300)
  equal(statements < 15, true, `${statements} statements`)
})

onEveryStore(
  'outcomes that cannot be settled stop new work instead of piling up',
  async (test, open, mode) => {
    let working = false
    const store = faultyStore(open(), {
      settle: (real, ...args) =>
        working ? real(...args) : Promise.reject(new Error('the database is away')),
    })
    const { outbox, listener, metrics } = await startOutbox(test, store, { mode, poller: { intervalMs: 20 } })
    for (let batch = 0; batch < 5; batch++) {
      await writeTested(outbox, ...Array.from({ length: 1_000 }, (_, n) => n))
    }
    await listener.called(2_000)
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 5))
    equal(listener.events.length <= 2_004, true, `${listener.events.length} listeners were called`)

    working = true
    await metrics.until((seen) => seen.dispatchSuccess === 5_000)
    equal(listener.events.length, 5_000)
    deepEqual(new Set(listener.ids).size, 5_000)
  },
)
