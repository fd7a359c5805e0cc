import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { systemClock } from '../../src/clock.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore('closing finishes what is queued', async (test, open, mode) => {
  const { outbox, listener } = await startOutbox(test, open(), { mode, workerCount: 1 })
  const ids = await writeTested(outbox, 1, 2, 3, 4, 5)
  await outbox.close()

  deepEqual(listener.ids, ids)
  const store = open()
  await store.migrate()
  equal(await store.people.count({ status: [1] }), 5)
  await store.close()
})

onEveryStore('closing finishes what is queued behind slow listeners', async (test, open, mode) => {
  const listener = new RecordingListener(() => new Promise((resolve) => setTimeout(resolve, 10)))
  const { outbox } = await startOutbox(test, open(), {
    mode,
    listener,
    workerCount: 1,
    drainTimeoutMs: 60_000,
  })
  const ids = await writeTested(outbox, 1, 2, 3, 4, 5)
  await outbox.close()
  deepEqual(listener.ids, ids)
})

onEveryStore(
  'closing hands back at once what is not running, and keeps what is',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const { outbox } = await startOutbox(test, open(), {
      mode,
      listener,
      workerCount: 1,
      drainTimeoutMs: 20,
      shutdownTimeoutMs: 60_000,
    })
    const [running, queued] = await writeTested(outbox, 'running', 'queued')
    await listener.called(1)
    const closing = outbox.close()

    const store = open()
    await store.migrate()
    while ((await rowOf(store, queued!))!.lockedBy !== null)
      await new Promise((resolve) => setTimeout(resolve, 2))
    equal((await rowOf(store, running!))!.lockedBy === null, false)
    gate.open()
    await closing
    equal((await rowOf(store, running!))!.status, 1)
    equal((await rowOf(store, queued!))!.losses, 0)
    deepEqual(listener.ids, [running])
    await store.close()
  },
)

onEveryStore(
  'a listener that needs too long is interrupted without a failed attempt',
  async (test, open, mode) => {
    const listener = new RecordingListener((_, { signal }) => {
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      )
    })
    const { outbox } = await startOutbox(test, open(), {
      mode,
      listener,
      drainTimeoutMs: 5,
      shutdownTimeoutMs: 5,
    })
    const [id] = await writeTested(outbox, 1)
    await listener.called(1)
    await outbox.close()

    const store = open()
    await store.migrate()
    const row = (await rowOf(store, id!))!
    deepEqual([row.status, row.attempts, row.lockedBy], [0, 0, null])
    await store.close()
  },
)

onEveryStore(
  'with nothing queued, closing waits for running listeners alone, and forgets one that never returns',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    let settlements = 0
    const store = faultyStore(open(), {
      settle: (real, ...args) => {
        settlements++
        return real(...args)
      },
    })
    const { outbox } = await startOutbox(test, store, {
      mode,
      listener,
      drainTimeoutMs: 60_000,
      shutdownTimeoutMs: 5,
    })
    await writeTested(outbox, 1)
    await listener.called(1)
    await outbox.close()

    gate.open()
    await new Promise((resolve) => setTimeout(resolve, 20))
    equal(settlements, 0, 'the store is closed')
  },
)

onEveryStore(
  'an owner that closes while a listener runs keeps that event from others, and nothing else',
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const first = await startOutbox(test, open(), {
      mode: 'singleNode',
      listener,
      workerCount: 1,
      leaseMs: 600,
      drainTimeoutMs: 5,
      shutdownTimeoutMs: 5,
    })
    const writer = await Outbox.writerOnly<any>({ store: open(), logger: false }).start()
    test.after(() => writer.close())
    const ids = await writeTested(writer, ...Array.from({ length: 50 }, (_, n) => n))
    await first.outbox.poll()
    await listener.called(1)

    const next = await startOutbox(test, open(), { mode: 'singleNode', poller: { intervalMs: 5 } })
    await first.outbox.close()
    const { lockedBy, losses } = (await rowOf(next.store, ids[0]!))!
    deepEqual([lockedBy === null, losses], [false, 0])
    await next.metrics.until((seen) => seen.dispatchSuccess === 49)
    deepEqual(new Set(next.listener.ids), new Set(ids.slice(1)))

    await next.metrics.until((seen) => seen.dispatchSuccess === 50)
    deepEqual(next.listener.ids.at(-1), ids[0])
    gate.open()
  },
  ['singleNode'],
)

onEveryStore(
  "a listener that outlives the hand-over of its owner's lock still settles",
  async (test, open) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const first = await startOutbox(test, open(), {
      mode: 'singleNode',
      listener,
      workerCount: 1,
      drainTimeoutMs: 5,
      shutdownTimeoutMs: 60_000,
    })
    const writer = await Outbox.writerOnly<any>({ store: open(), logger: false }).start()
    test.after(() => writer.close())
    const ids = await writeTested(writer, 'running', 'queued')
    await first.outbox.poll()
    await listener.called(1)

    const next = await startOutbox(test, open(), { mode: 'singleNode', poller: { intervalMs: 5 } })
    const closing = first.outbox.close()
    await next.metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(next.listener.ids, [ids[1]])
    gate.open()
    await closing
    equal((await rowOf(next.store, ids[0]!))!.status, 1)
    equal(first.metrics.settlementRefused, 0)
  },
  ['singleNode'],
)

onEveryStore(
  'while an outbox closes, results do not wait behind a settlement without an answer',
  async (test, open, mode) => {
    const gates = [new Gate(), new Gate()]
    const sent = new Gate()
    let calls = 0
    const listener = new RecordingListener(({ payload }) => gates[payload as number]!.passed)
    const store = faultyStore(open(), {
      settle(real, ...args) {
        sent.open()
        return ++calls === 1 ? new Promise<never>(() => {}) : real(...args)
      },
    })
    const { outbox } = await startOutbox(test, store, { mode, listener, drainTimeoutMs: 1_000 })
    const [, second] = await writeTested(outbox, 0, 1)
    await listener.called(2)
    gates[0]!.open()
    await sent.passed
    const closing = outbox.close()
    gates[1]!.open()
    await closing
    const reader = open()
    await reader.migrate()
    equal((await rowOf(reader, second!))!.status, 1)
    await reader.close()
  },
  ['singleNode', 'multiNode'],
)

onEveryStore('closing ends although the database never answers', async (test, open, mode) => {
  const silence = () => new Promise<never>(() => {})
  const store = faultyStore(open(), {
    claim: silence,
    pollPending: silence,
    settle: silence,
    release: silence,
  })
  const clock = {
    ...systemClock,
    schedule: (ms: number, run: () => void, keepAlive?: 'keepAlive') =>
      systemClock.schedule(ms / 100, run, keepAlive),
  }
  const { outbox, listener, log } = await startOutbox(test, store, { mode, clock })
  await writeTested(outbox, 1)
  await listener.called(1)
  await outbox.close()
  match(log.join('\n'), /Stopping the engine failed\. Error: The database did not answer in time/)
})

onEveryStore(
  'a listener that runs while the outbox closes may still begin a transaction and write',
  async (test, open, mode) => {
    const closing = new Gate()
    const failures: unknown[] = []
    const listener = new RecordingListener(async () => {
      await closing.passed
      try {
        await outbox.transaction(() => outbox.write('Followed', 'in a transaction'))
      } catch (error) {
        failures.push(error)
        throw error
      }
    })
    const { outbox } = await startOutbox(test, open(), { mode, listener })
    const [id] = await writeTested(outbox, 1)
    await listener.called(1)
    const closed = outbox.close()
    closing.open()
    await closed

    deepEqual(failures, [])
    const store = open()
    await store.migrate()
    equal((await rowOf(store, id!))!.status, 1)
    equal(await store.people.count({ eventType: 'Followed', status: [0] }), 1)
    await store.close()
    await rejects(
      outbox.transaction(async () => {}),
      { code: 'OUTBOX_CLOSED' },
    )
  },
)

onEveryStore('a closed outbox refuses to work and says so', async (test, open, mode) => {
  const { outbox } = await startOutbox(test, open(), { mode })
  await outbox.close()
  await outbox.close()
  await rejects(async () => outbox.transaction(async () => {}), { code: 'OUTBOX_CLOSED' })
  await rejects(outbox.start(), { code: 'OUTBOX_CLOSED' })
})

onEveryStore(
  'closing finishes what runs, even if the wake-ups of the store cannot be ended',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const store = open()
    const wakeUps = {
      announce: async () => {},
      listen: async () => () => Promise.reject(new Error('The database is down.')),
    }
    const { outbox, log } = await startOutbox(
      test,
      new Proxy(store, {
        get: (target, name) => (name === 'wakeUps' ? wakeUps : (Reflect.get(target, name) as unknown)),
      }),
      { mode, listener, shutdownTimeoutMs: 60_000 },
    )
    const [running] = await writeTested(outbox, 'running')
    await listener.called(1)
    const closing = outbox.close()
    await new Promise((resolve) => setImmediate(resolve))
    gate.open()
    await closing
    const reader = open()
    await reader.migrate()
    equal((await rowOf(reader, running!))!.status, 1)
    await reader.close()
    match(log.join('\n'), /Ending the wake-ups failed/)
  },
)

onEveryStore(
  'a settlement that comes while closing leases its row is written after that, and nothing runs twice',
  async (test, open, mode) => {
    const gate = new Gate()
    const claimed = new Gate()
    const settled = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const store = faultyStore(open(), {
      // The store has leased the row, and its answer comes after the one to the settlement.
      async claim(claim, request) {
        const rows = await claim(request)
        if (request.rows === undefined || rows.length === 0) return rows
        claimed.open()
        await settled.passed
        return rows
      },
      async settle(settle, request) {
        const refused = await settle(request)
        settled.open()
        return refused
      },
    })
    const { outbox } = await startOutbox(test, store, {
      mode,
      listener,
      drainTimeoutMs: 50,
      shutdownTimeoutMs: 60_000,
    })
    const [running] = await outbox.transaction(async () => [
      await outbox.write('Tested', 'running', { deliverAfterMs: 1 }),
    ])
    await listener.called(1)
    const closing = outbox.close()
    await claimed.passed
    gate.open()
    await closing
    const reader = open()
    await reader.migrate()
    const row = (await rowOf(reader, running))!
    deepEqual([row.status, row.losses, listener.ids.length], [1, 0, 1])
    await reader.close()
  },
  ['singleNode'],
)
