import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { StoppableClock } from '../fixtures/stoppable-clock.ts'
import { storeKinds } from '../fixtures/stores.ts'

const modes = ['multiNode', 'singleNode', 'singleWriter', 'ordered', 'partitioned'] as const
type Mode = (typeof modes)[number]

describe('a process that comes back after the mode of the table has changed', () => {
  for (const kind of storeKinds) {
    const { name } = kind
    for (const mode of modes) {
      it(`takes no more rows, logs that once, and takes part again when the table has its mode, ${mode} on ${name}`, async (test) => {
        const openStore = await kind.open(test)
        const clock = new StoppableClock()
        const away = await worker(test, mode, openStore(), clock)
        const otherMode = mode === 'multiNode' ? 'singleNode' : 'multiNode'
        clock.stop()
        const other = await startedAtLast(() => worker(test, otherMode, openStore()))
        await write(other, 'of the others')
        clock.continue()
        await write(away, 'hot')
        await write(away, 'cold', { deliverAfterMs: 1 })
        await other.until(3)
        // There is time for several heartbeats and polls.
        await away.outbox.drain()
        await new Promise((resolve) => setTimeout(resolve, 300))

        deepEqual(away.payloads, [])
        deepEqual([...other.payloads].sort(), ['cold', 'hot', 'of the others'])
        equal(away.errors.length, 1)
        match(away.errors[0]!, /takes no more events in mode/)

        await other.outbox.close()
        await write(away, 'its own again')
        await away.until(1)
        deepEqual(away.payloads, ['its own again'])
      })
    }
  }

  it('deletes no event that other processes have to deliver, writerOnly', async (test) => {
    const time = fakeClock()
    const store = memoryStore({ now: time.now })
    let purges = 0
    const purging = {
      ...store,
      purge: (...args: Parameters<typeof store.purge>) => (purges++, store.purge(...args)),
    }
    let awayMs = 0
    const writer = Outbox.writerOnly<any>({
      store: purging,
      clock: { ...time, monotonic: () => time.monotonic() + awayMs },
      logger: false,
      purge: { ageMs: 1_000_000, intervalMs: 1_000 },
    })
    test.after(() => writer.close())
    await writer.start()
    await time.advance(2_000)
    ok(purges > 1)
    await store.nodes.leave((await idsOf(store))[0]!)
    await store.nodes.join({ id: 'other', mode: 'multiNode', ttlMs: 600_000 })
    awayMs = 60_000
    const before = purges
    await time.advance(100_000)

    equal(purges, before)
  })
})

/** The registered processes, as the store returns them to a process of another mode. */
async function idsOf(store: StoreWith<any, 'people'>): Promise<readonly string[]> {
  const answer = await store.nodes.join({ id: 'asking', mode: 'asking', ttlMs: 1 })
  return answer.kind === 'conflict' ? answer.nodes : []
}

interface Worker {
  readonly outbox: Outbox<any>
  readonly payloads: unknown[]
  readonly errors: string[]
  until(count: number): Promise<void>
}

async function worker(
  test: TestContext,
  mode: Mode,
  store: StoreWith<any, 'people'>,
  clock = new StoppableClock(),
): Promise<Worker> {
  const payloads: unknown[] = []
  const errors: string[] = []
  let heard = Promise.withResolvers<void>()
  const outbox = Outbox[mode]<any>({
    store,
    clock,
    listeners: new ListenerRegistry().register('Tested', ({ payload }) => {
      payloads.push(payload)
      heard.resolve()
      heard = Promise.withResolvers()
    }),
    logger: { debug() {}, info() {}, warn() {}, error: (message) => void errors.push(message) },
    leaseMs: 100,
    poller: { intervalMs: 10 },
  })
  test.after(() => outbox.close())
  await outbox.start()
  return {
    outbox,
    payloads,
    errors,
    async until(count) {
      while (payloads.length < count) await heard.promise
    },
  }
}

/** Starts as soon as the registrations of absent processes have run out. */
async function startedAtLast(start: () => Promise<Worker>): Promise<Worker> {
  for (;;) {
    try {
      return await start()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

async function write({ outbox }: Worker, payload: string, options = {}): Promise<void> {
  await outbox.transaction(() => outbox.write('Tested', payload, options))
}
