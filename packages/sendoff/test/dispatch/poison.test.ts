import { deepEqual, equal, match } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { EventStatus } from '../../src/event/status.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { modes, onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'
import { temporaryFolder } from '../fixtures/stores.ts'

describe('an event that kills its process', () => {
  for (const mode of modes) {
    it(`is DEAD after maxDeliveries, and its neighbours are delivered, ${mode}`, async (test) => {
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
      const pending = () => store.count({ status: [EventStatus.NEW, EventStatus.RETRY] })
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

      const dead = await store.query({ status: [EventStatus.DEAD], limit: 100 })
      deepEqual(
        dead.map((row) => row.payload),
        ['"poison"'],
      )
      match(dead[0]!.lastError!, /ended 5 times in a row while this event was in hand/)
      equal(deaths, 5)
      equal(await store.count({ status: [EventStatus.DONE] }), 60)
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

  // Three holders vanished with the suspects in hand.
  const store = open()
  await store.migrate()
  const keys = [ids[3]!, ids[6]!].map((eventId) => ({ eventId, destination: '' }))
  for (let loss = 0; loss < 4; loss++) {
    while ((await store.claim({ lease: { owner: `vanished ${loss}`, ms: 1 }, limit: 2, keys })).length < 2) {
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
      const rows = await store.query({ limit: 20 })
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

const workerScript = path.join(import.meta.dirname, '../fixtures/poison-worker.ts')

async function waitUntil(ready: () => Promise<boolean>, orElse: Promise<unknown>): Promise<void> {
  let ended = false
  void orElse.then(() => (ended = true))
  while (!ended && !(await ready())) await new Promise((resolve) => setTimeout(resolve, 20))
}
