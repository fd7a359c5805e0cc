import { deepEqual, equal } from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { partitionCount, partitionOf } from '../../src/store/partition-of.ts'
import { UnrecoverableError } from '../../src/errors.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { WriterOutbox } from '../../src/outbox/writer-outbox.ts'
import type { CompleteStore, OutboxWakeUps, WakeUp } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { AmbientTransactions } from '../../src/write/ambient-transactions.ts'
import { OutboxWriter } from '../../src/write/outbox-writer.ts'
import { startOutbox, until, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

/** Signals between the stores of one process, in place of a database that signals between many. */
class Signals implements OutboxWakeUps {
  readonly #callbacks = new Set<(wakeUp: WakeUp) => void>()
  announced = 0
  committed = 0
  isBroken = false

  get listeners(): number {
    return this.#callbacks.size
  }

  async listen(callback: (wakeUp: WakeUp) => void) {
    if (this.isBroken) throw new Error('no signals today')
    this.#callbacks.add(callback)
    return async () => void this.#callbacks.delete(callback)
  }

  async announce(wakeUp: WakeUp = {}) {
    this.announced++
    if (this.isBroken) throw new Error('no signals today')
    this.#pass(wakeUp)
  }

  /** Passes on the signal of a transaction that has committed. */
  commit() {
    this.committed++
    if (!this.isBroken) this.#pass()
  }

  #pass(wakeUp: WakeUp = {}) {
    for (const callback of this.#callbacks) setImmediate(callback, wakeUp)
  }
}

function sharedStore(signals: Signals): CompleteStore<any> {
  const store: CompleteStore<any> = memoryStore()
  const announced = new Set<unknown>()
  return {
    ...store,
    wakeUps: signals,
    close: async () => {},

    insert(request) {
      if (request.announce) announced.add(request.tx)
      return store.insert(request)
    },

    async transaction(work, options) {
      let handle: unknown
      const result = await store.transaction((tx) => {
        handle = tx
        return work(tx)
      }, options)
      if (announced.delete(handle)) signals.commit()
      return result
    },
  }
}

async function startWriter(test: TestContext, store: CompleteStore<any>): Promise<WriterOutbox<any>> {
  const outbox = await Outbox.writerOnly<any>({ store, logger: false }).start()
  test.after(() => outbox.close())
  return outbox
}

it('events that come before the process listens are found as soon as it does', async (test) => {
  const signals = new Signals()
  const store = sharedStore(signals)
  const polled = Promise.withResolvers<void>()
  const listening = Promise.withResolvers<void>()
  const { metrics, listener } = await startOutbox(test, {
    ...store,
    async claim(request) {
      const rows = await store.claim(request)
      polled.resolve()
      return rows
    },
    wakeUps: {
      announce: (wakeUp) => signals.announce(wakeUp),
      async listen(callback) {
        await listening.promise
        return signals.listen(callback)
      },
    },
  })
  await polled.promise
  const writer = await startWriter(test, store)
  await writer.transaction(() => writer.write('Tested', 'unheard'))
  listening.resolve()
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  deepEqual(listener.payloads, ['unheard'])
})

it('a process that only writes wakes processes that deliver', async (test) => {
  const signals = new Signals()
  const store = sharedStore(signals)
  const { metrics, listener } = await startOutbox(test, store)
  const writer = await startWriter(test, store)
  await writer.transaction(() => writer.write('Tested', 'woken'))
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  deepEqual(listener.payloads, ['woken'])
  equal(signals.committed, 1)
  equal(signals.announced, 0)
})

it('beside other open transactions, the signal follows the commit', async (test) => {
  const signals = new Signals()
  const store = sharedStore(signals)
  const { metrics } = await startOutbox(test, store)
  const writer = await startWriter(test, store)
  const mayWrite = Promise.withResolvers<void>()
  const writing = writer.transaction(async () => {
    await mayWrite.promise
    await writer.write('Tested', 'beside another')
  })
  const other = writer.transaction(async () => {})
  mayWrite.resolve()
  await Promise.all([other, writing])
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  equal(signals.announced, 1)
  equal(signals.committed, 0)
})

it('a bare writer wakes other processes, also beside open transactions', async (test) => {
  const signals = new Signals()
  const store = sharedStore(signals)
  const { metrics } = await startOutbox(test, store)
  const transactions = new AmbientTransactions({ store })
  const writer = new OutboxWriter({ store, txContext: transactions })
  await Promise.all([
    transactions.transaction(() => writer.write('Tested', 'one')),
    transactions.transaction(() => writer.write('Tested', 'two')),
  ])
  await metrics.until((seen) => seen.dispatchSuccess === 2)
  equal(signals.committed, 2)
})

it('many transactions at once need few signals', async (test) => {
  const signals = new Signals()
  const store = sharedStore(signals)
  const { metrics } = await startOutbox(test, store)
  const writer = await startWriter(test, store)
  await Promise.all(
    Array.from({ length: 200 }, () => writer.transaction(() => writer.write('Tested', 'one of many'))),
  )
  await metrics.until((seen) => seen.dispatchSuccess === 200)
  const count = signals.announced + signals.committed
  equal(count < 50, true, `${count} signals`)
})

it('events that their own process delivers cause no signal', async (test) => {
  const signals = new Signals()
  const { outbox, metrics } = await startOutbox(test, sharedStore(signals))
  await writeTested(outbox, 1, 2, 3)
  await metrics.until((seen) => seen.dispatchSuccess === 3)
  equal(signals.announced + signals.committed, 0)
})

it('an event whose destination is failing causes no signal', async (test) => {
  const signals = new Signals()
  const isOpen = Promise.withResolvers<void>()
  const listeners = new ListenerRegistry()
    .register('Tested', async () => {})
    .register('Tested', () => Promise.reject(new Error('no mail')), { destination: 'mail' })
  const { outbox } = await startOutbox(test, sharedStore(signals), {
    listeners,
    routing: {
      version: 1,
      rules: [{ to: ['', 'mail'] }],
      destinations: { mail: { circuitBreaker: { minimumCalls: 2, coolDownMs: 60_000 } } },
    },
  })
  outbox.events.on('outage', () => isOpen.resolve())
  await writeTested(outbox, 1, 2)
  await isOpen.promise
  const before = signals.announced + signals.committed
  await writeTested(outbox, 3)
  equal(signals.announced + signals.committed, before)
})

it('failed signals lose no event', async (test) => {
  const signals = new Signals()
  signals.isBroken = true
  const store = sharedStore(signals)
  const { metrics, log } = await startOutbox(test, store, { poller: { intervalMs: 20 } })
  const writer = await startWriter(test, store)
  await Promise.all([1, 2].map(() => writer.transaction(() => writer.write('Tested', 'found by polling'))))
  await metrics.until((seen) => seen.dispatchSuccess === 2)
  equal(log.filter((line) => line.includes('no signals today')).length, 1)
})

it('a closed outbox does not listen for wake-ups', async (test) => {
  const signals = new Signals()
  const { outbox } = await startOutbox(test, sharedStore(signals))
  equal(signals.listeners, 1)
  await outbox.close()
  equal(signals.listeners, 0)
})

it('the ordered mode delivers right after the commit', async (test) => {
  const listener = new RecordingListener()
  const outbox = await Outbox.ordered<any>({
    store: memoryStore(),
    listeners: new ListenerRegistry().register('Tested', listener),
    logger: false,
    poller: { intervalMs: 600_000 },
  }).start()
  test.after(() => outbox.close())
  await writeTested(outbox, 'first')
  await listener.called(1)
  await writeTested(outbox, 'second')
  await listener.called(2)
  deepEqual(listener.payloads, ['first', 'second'])
})

it('for an event with a key, only the owner of its partition polls', async (test) => {
  const signals = new Signals()
  const store = sharedStore(signals)
  const nodes = [await startPartitioned(test, store), await startPartitioned(test, store)]
  const writer = await startWriter(test, store)
  await until(() => nodes.every(({ owned }) => owned.size === partitionCount / 2))
  let looksInVain = 0

  for (let n = 0; n < 40; n++) {
    const orderingKey = `key-${n}`
    const owner = nodes.find(({ owned }) => owned.has(partitionOf(orderingKey)))!
    const other = nodes.find((node) => node !== owner)!
    const [looksBefore, delivered] = [other.looks, owner.listener.events.length]
    // Another transaction is open, so that the signal follows the commit.
    await Promise.all([
      writer.transaction(() => writer.write('Tested', n, { orderingKey })),
      writer.transaction(async () => {}),
    ])
    await owner.listener.called(delivered + 1)
    looksInVain += other.looks - looksBefore
  }
  // A few concern partitions that have just changed owners.
  equal(looksInVain < 10, true, `${looksInVain} looks in vain`)
})

interface PartitionedNode {
  readonly outbox: Outbox<any>
  readonly listener: RecordingListener
  readonly owned: ReadonlySet<number>
  readonly looks: number
}

async function startPartitioned(test: TestContext, store: CompleteStore<any>): Promise<PartitionedNode> {
  const { partitions, lanes } = store
  const owned = new Set<number>()
  const listener = new RecordingListener()
  let looks = 0
  const watched: CompleteStore<any> = {
    ...store,
    partitions: {
      ...partitions,
      async acquire(request) {
        const acquired = await partitions.acquire(request)
        for (const { partition } of acquired) owned.add(partition)
        return acquired
      },
      async release(request) {
        for (const { partition } of request.partitions) owned.delete(partition)
        await partitions.release(request)
      },
    },
    lanes: {
      ...lanes,
      read(request) {
        looks++
        return lanes.read(request)
      },
    },
  }
  const outbox = await Outbox.partitioned<any>({
    store: watched,
    listeners: new ListenerRegistry().register('Tested', listener),
    logger: false,
    poller: { intervalMs: 600_000, busyIntervalMs: 600_000 },
  }).start()
  test.after(() => outbox.close())
  return {
    outbox,
    listener,
    owned,
    get looks() {
      return looks
    },
  }
}

it('a delayed event of one process is delivered on time by another', async (test) => {
  const store = sharedStore(new Signals())
  const { listener } = await startOutbox(test, store)
  const writer = await startWriter(test, store)
  await writer.transaction(() => writer.write('Tested', 1, { deliverAfterMs: 30 }))
  await listener.called(1)
})

it('an event that is replayed in one process is delivered at once by another', async (test) => {
  const store = sharedStore(new Signals())
  const listener = new RecordingListener(() => {
    if (listener.events.length === 1) throw new UnrecoverableError('not now')
  })
  const { outbox, metrics } = await startOutbox(test, store, { listener })
  const [id] = await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchDead === 1)

  const other = await startWriter(test, store)
  equal(await other.deadEvents.replay(id!), true)
  await metrics.until((seen) => seen.dispatchSuccess === 1)
})

it('a pause or resume in one process takes effect at once in another', async (test) => {
  const store = sharedStore(new Signals())
  const { outbox, listener } = await startOutbox(test, store)
  const other = await startWriter(test, store)
  await other.pause({ eventType: 'Tested' })
  // This is less than a heartbeat interval, and more than a signal takes.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  await writeTested(outbox, 1)
  await outbox.poll()
  equal(listener.events.length, 0)

  await other.resume({ eventType: 'Tested' })
  await listener.called(1)
})
