import { deepEqual, equal } from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import type { StoreWith } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { type FixtureOptions, rowOf, startOutbox } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'
import { temporaryFolder } from '../fixtures/stores.ts'

const leaseMs = 30_000
const allModes = ['multiNode', 'singleNode', 'singleWriter', 'ordered', 'partitioned'] as const

/** Less than a poll interval: a process that has lost its partitions meanwhile first takes them again. */
const atOnceMs = 1_000

const storesInTime = {
  memory: async (_: TestContext, clock: FakeClock) => memoryStore({ now: clock.now }),
  async sqlite(test: TestContext, clock: FakeClock) {
    const file = path.join(await temporaryFolder(test), 'app.db')
    return sqliteStore({ open: () => new DatabaseSync(file), now: clock.now })
  },
}

function onEveryStoreInTime(
  name: string,
  modes: readonly (typeof allModes)[number][],
  body: (
    clock: FakeClock,
    store: StoreWith<any, 'people'>,
    start: (store: StoreWith<any, 'people'>, options?: FixtureOptions) => ReturnType<typeof startOutbox>,
  ) => Promise<void>,
): void {
  describe(name, () => {
    for (const [kind, open] of Object.entries(storesInTime)) {
      for (const mode of modes) {
        it(`on ${kind}, ${mode}`, async (test) => {
          const clock = fakeClock()
          const start = (store: StoreWith<any, 'people'>, options: FixtureOptions = {}) =>
            startOutbox(test, store, { mode: mode as never, clock, leaseMs, poller: {}, ...options })
          // Closing uses the clock, too.
          test.after(() => void advancing(clock))
          await body(clock, await open(test, clock), start)
        })
      }
    }
  })
}

async function advancing(clock: FakeClock): Promise<void> {
  for (let step = 0; step < 20; step++) await clock.advance(500)
}

onEveryStoreInTime(
  'an event is delivered once, even if the poller finds it before the answer to its commit arrives',
  ['multiNode', 'singleNode', 'singleWriter'],
  async (clock, real, start) => {
    const [hasWritten, mayCommit, mayAnswer, mayEnd] = [new Gate(), new Gate(), new Gate(), new Gate()]
    const store = faultyStore(real, {
      async transaction(transaction, work, within) {
        const result = await transaction(work, within)
        await mayAnswer.passed
        return result
      },
    })
    const listener = new RecordingListener(() => mayEnd.passed)
    const { outbox, metrics } = await start(store, { listener })
    const transaction = outbox.transaction(async () => {
      const id = await outbox.write('Tested', 'slow')
      hasWritten.open()
      await mayCommit.passed
      return id
    })
    await hasWritten.passed
    await clock.advance(leaseMs + 1_000)
    mayCommit.open()
    await clock.advance(6_000)
    equal(listener.events.length, 1)

    mayAnswer.open()
    const id = await transaction
    await clock.advance(4 * leaseMs)
    equal(listener.events.length, 1)
    equal((await rowOf(store, id))!.losses <= 1, true)
    mayEnd.open()
    await clock.advance(leaseMs)
    equal(metrics.dispatchSuccess, 1)
    equal(metrics.settlementRefused, 0)
    deepEqual(listener.payloads, ['slow'])
  },
)

onEveryStoreInTime(
  'a transaction that was open for longer than a lease is delivered at once after its commit',
  allModes,
  async (clock, store, start) => {
    const { outbox, metrics, listener } = await start(store)
    const [hasWritten, mayCommit] = [new Gate(), new Gate()]
    const transaction = outbox.transaction(async () => {
      const id = await outbox.write('Tested', 'slow', { orderingKey: 'k' })
      hasWritten.open()
      await mayCommit.passed
      return id
    })
    await hasWritten.passed
    await clock.advance(3 * leaseMs + 1_700)
    mayCommit.open()
    const id = await transaction
    await clock.advance(atOnceMs)
    deepEqual(listener.payloads, ['slow'])
    await clock.advance(atOnceMs)
    equal(metrics.dispatchSuccess, 1)
    equal((await rowOf(store, id))!.losses, 0)
  },
)
