import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { Outbox } from '../../src/outbox/outbox.ts'
import { EventStatus } from '../../src/store/event-status.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import {
  type Mode,
  modes,
  onEveryStore,
  rowOf,
  startOutbox,
  writeTested,
} from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'
import { temporaryFolder } from '../fixtures/stores.ts'

describe('an event that kills its process', () => {
  for (const mode of modes) {
    it(`is DEAD after maxLosses, and its neighbours are delivered, ${mode}`, async (test) => {
      const file = path.join(await temporaryFolder(test), 'app.db')
      const writer = await startOutbox(test, sqliteStore({ open: () => new DatabaseSync(file) }), {
        mode,
        hotQueueCapacity: 1,
        poller: { enabled: false },
        listener: new RecordingListener(),
      })
      const payloads = Array.from({ length: 60 }, (_, n) => (n === 30 ? 'poison' : `neighbour ${n}`))
      await writeTested(writer.outbox, 'hot', ...payloads)
      await writer.metrics.until((seen) => seen.dispatchSuccess === 1)
      await writer.outbox.close()

      const store = sqliteStore({ open: () => new DatabaseSync(file) })
      test.after(() => store.close())
      const pending = () => store.people.count({ status: [EventStatus.NEW, EventStatus.RETRY] })
      let deaths = 0
      while ((await pending()) > 0) {
        const worker = spawn(process.execPath, [workerScript, file, mode], {
          stdio: ['ignore', 'ignore', 'inherit'],
        })
        const exited = once(worker, 'exit')
        const done = waitUntil(async () => (await pending()) === 0, exited)
        await Promise.race([exited, done])
        if (worker.exitCode === null && worker.signalCode === null) worker.kill('SIGTERM')
        if ((await exited)[1] === 'SIGKILL') deaths++
      }

      const dead = await store.people.query({ status: [EventStatus.DEAD], limit: 100 })
      deepEqual(
        dead.map((row) => row.payload),
        ['"poison"'],
      )
      match(dead[0]!.lastError!, /5 processes in a row ended while they held this event/)
      equal(deaths, 5)
      equal(await store.people.count({ status: [EventStatus.DONE] }), 60)
    })
  }
})

onEveryStore('a suspect runs alone, with everything else handed back', async (test, open, mode) => {
  const real = open()
  const nothing = new RecordingListener()
  const writer = await startOutbox(test, real, {
    mode,
    listener: nothing,
    hotQueueCapacity: 1,
    poller: { enabled: false },
  })
  const ids = await writeTested(writer.outbox, 'hot', 'a', 'b', 'suspect', 'c', 'd', 'other suspect')
  await writer.metrics.until((seen) => seen.dispatchSuccess === 1)
  await writer.outbox.close()

  // Three processes vanished while they held the suspects.
  const store = open()
  await store.migrate()
  const keys = [ids[3]!, ids[6]!].map((eventId) => ({ eventId, destination: '' }))
  for (let loss = 0; loss < 4; loss++) {
    while (
      (await store.claim({ lease: { owner: `vanished ${loss}`, ms: 1 }, limit: 2, rows: keys })).length < 2
    ) {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 5))

  const gate = new Gate()
  let running = 0
  const company: number[] = []
  const heldByUs: string[] = []
  const listener = new RecordingListener(async (event) => {
    running++
    if ((event.payload as string).includes('suspect')) {
      company.push(running)
      const rows = await store.people.query({ limit: 20 })
      heldByUs.push(
        rows
          .filter((row) => row.lockedBy?.startsWith('node-'))
          .map((row) => row.payload)
          .join(),
      )
    } else {
      await gate.passed
    }
    running--
  })
  const node = await startOutbox(test, faultyStore(store, {}), {
    mode,
    listener,
    ownerId: 'node',
    workerCount: 4,
  })
  await listener.called(2)
  gate.open()
  await node.metrics.until((seen) => seen.dispatchSuccess === 6)
  deepEqual(company, [1, 1])
  // An owner that reads without claims holds what is claimed and what its lock row says.
  for (const held of heldByUs) match(held, /^("(other )?suspect")?$/)
})

onEveryStore('nothing comes near a suspect while it runs', async (test, open, mode) => {
  const store = open()
  const id = await writeLost(test, store, mode, 3)

  const gate = new Gate()
  const listener = new RecordingListener((event) => (event.payload === 'lost' ? gate.passed : undefined))
  const node = await startOutbox(test, open(), { mode, listener })
  await listener.called(1)
  const [beside] = await writeTested(node.outbox, 'beside')
  await node.outbox.poll()
  equal((await rowOf(node.store, beside!))!.lockedBy, null)
  deepEqual(listener.ids, [id])

  gate.open()
  await node.metrics.until((seen) => seen.dispatchSuccess === 2)
  deepEqual(listener.ids, [id, beside])
})

onEveryStore(
  'an event handed back unrun keeps its count: it has proved nothing',
  async (test, open, mode) => {
    const few = await writeLost(test, open(), mode, 2)
    const many = await writeLost(test, open(), mode, 4)

    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const node = await startOutbox(test, open(), {
      mode,
      listener,
      workerCount: 1,
      drainTimeoutMs: 1,
      shutdownTimeoutMs: 60_000,
      poller: { enabled: false },
    })
    await writeTested(node.outbox, 'running')
    await listener.called(1)
    await node.outbox.poll()
    const closing = node.outbox.close()

    const store = open()
    await store.migrate()
    while ((await rowOf(store, few))!.lockedBy !== null)
      await new Promise((resolve) => setTimeout(resolve, 2))
    // Closing has got as far as taking nothing more: what a suspect waits for must not end before.
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
    gate.open()
    await closing
    equal(listener.events.length, 1)
    deepEqual(await Promise.all([few, many].map(async (id) => (await rowOf(store, id))!.losses)), [2, 4])
    await store.close()
  },
)

onEveryStore(
  'a suspect is not in hand while something else runs that may end the process',
  async (test, open, mode) => {
    const store = open()
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const node = await startOutbox(test, open(), {
      mode,
      listener,
      ownerId: 'node',
      poller: { enabled: false },
    })
    await writeTested(node.outbox, 'running')
    await listener.called(1)

    const suspect = await writeLost(test, store, mode, 3)
    await node.outbox.poll()
    while (!node.log.some((line) => line.includes('runs alone now')))
      await new Promise((resolve) => setImmediate(resolve))
    while ((await rowOf(node.store, suspect))!.lockedBy !== null)
      await new Promise((resolve) => setImmediate(resolve))
    equal(listener.events.length, 1)

    gate.open()
    await node.metrics.until((seen) => seen.dispatchSuccess === 2)
    deepEqual(listener.ids.at(-1), suspect)
  },
)

/** Writes an event that so many holders have vanished with; the next one to claim it counts the last of them. */
async function writeLost(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  mode: Mode,
  holders: number,
): Promise<string> {
  const writer = await startOutbox(test, store, {
    mode,
    listeners: new ListenerRegistry(),
    poller: { enabled: false },
  })
  const [eventId] = await writeTested(writer.outbox, 'lost')
  for (let holder = 0; holder < holders; holder++) {
    const claim = {
      lease: { owner: `vanished ${holder}`, ms: 1 },
      limit: 1,
      rows: [{ eventId: eventId!, destination: '' }],
    }
    while ((await store.claim(claim)).length < 1) await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await new Promise((resolve) => setTimeout(resolve, 5))
  await writer.outbox.close()
  return eventId!
}

const workerScript = path.join(import.meta.dirname, '../fixtures/poison-worker.ts')

async function waitUntil(ready: () => Promise<boolean>, orElse: Promise<unknown>): Promise<void> {
  let ended = false
  void orElse.then(() => (ended = true))
  while (!ended && !(await ready())) await new Promise((resolve) => setTimeout(resolve, 20))
}

onEveryStore(
  'a suspect whose lease ran out before it could begin is claimed again first',
  async (test, open, mode) => {
    const store = open()
    await store.migrate()
    const writer = await Outbox.writerOnly<any>({ store: open(), logger: false }).start()
    test.after(() => writer.close())
    const [id] = await writeTested(writer, 'suspect')
    for (let holder = 1; holder <= 4; holder++) {
      await store.claim({ lease: { owner: `gone ${holder}`, ms: 1 }, limit: 1 })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    let claims = 0
    const late = faultyStore(store, {
      async claim(claim, request) {
        const rows = await claim(request)
        // The process stands still for longer than the lease.
        const isSuspect = request.rows?.[0]?.unchanged?.lockedBy === null
        if (isSuspect && claims++ === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150)
        return rows
      },
    })
    const isHeld: boolean[] = []
    const listener = new RecordingListener(async () => {
      isHeld.push((await rowOf(store, id!))!.lockedUntil! > Date.now())
    })
    const { outbox } = await startOutbox(test, late, {
      mode,
      listener,
      leaseMs: 100,
      poller: { intervalMs: 10 },
    })
    await listener.called(1)
    await outbox.drain()
    deepEqual(isHeld, [true])
    ok(claims > 1)
  },
  ['multiNode'],
)
