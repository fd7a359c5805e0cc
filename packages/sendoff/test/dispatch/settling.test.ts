import { deepEqual, equal, match } from 'node:assert/strict'
import { fixedDelay } from '../../src/process/fixed-delay.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
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
    equal(log.filter((line) => line.includes('the database is away')).length, 3)
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
        while ((await rowOf(store, args[0][0]!.row.eventId))!.deliveries < 3)
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
