import { deepEqual, equal, match, notEqual } from 'node:assert/strict'
import { it } from 'node:test'
import type { Clock } from '../../src/clock.ts'
import type { Delivery } from '../../src/delivery/delivery.ts'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { OutboxPoller, type OutboxPollerOptions } from '../../src/poll/outbox-poller.ts'
import { noPending, type PendingSource } from '../../src/poll/pending-source.ts'
import type { Row } from '../../src/store/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, startOutbox, writeTested, until } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const poller = { intervalMs: 3 }

onEveryStore(
  'a backlog older than many poll intervals is delivered without duplicates',
  async (test, open, mode) => {
    const quiet = await startOutbox(test, open(), { mode, poller: { enabled: false }, hotQueueCapacity: 1 })
    for (let batch = 0; batch < 30; batch++) {
      await writeTested(quiet.outbox, ...Array.from({ length: 20 }, (_, n) => batch * 20 + n))
    }
    await quiet.outbox.close()

    // Four workers at 1 ms each: the backlog outlasts some fifty intervals, and four poll at once where they may.
    const slow = () => new RecordingListener(() => new Promise((resolve) => setTimeout(resolve, 1)))
    const before = quiet.listener.ids
    const nodes = await Promise.all(
      [1, 2].map(() => startOutbox(test, open(), { mode, listener: slow(), poller })),
    )
    const delivered = () => nodes.reduce((sum, { metrics }) => sum + metrics.dispatchSuccess, before.length)
    await Promise.race(nodes.map(({ metrics }) => metrics.until(() => delivered() >= 600)))

    const ids = [...before, ...nodes.flatMap(({ listener }) => listener.ids)]
    equal(ids.length, 600)
    equal(new Set(ids).size, 600)
  },
)

onEveryStore(
  'writing and delivering at once, over many polls, delivers each event once',
  async (test, open, mode) => {
    const { outbox, listener, metrics } = await startOutbox(test, open(), {
      mode,
      poller,
      hotQueueCapacity: 5,
      coldQueueCapacity: 20,
    })
    const ids: string[] = []
    for (let round = 0; round < 40; round++)
      ids.push(...(await writeTested(outbox, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)))
    await metrics.until((seen) => seen.dispatchSuccess >= 400)

    deepEqual(listener.ids.sort(), ids.sort())
    notEqual(metrics.hotEnqueued, 0)
    notEqual(metrics.coldEnqueued, 0)
  },
)

onEveryStore(
  'a slow poll that began before a settlement does not deliver the event again',
  async (test, open, mode) => {
    const listenerMayEnd = new Gate()
    const slowPollMayEnd = new Gate()
    const slowPollHasRead = new Gate()
    let slow = false
    const store = faultyStore(open(), {
      // Reads at once and answers late, with rows as they were.
      async pollPending(real, request) {
        const rows = await real(request)
        // A look for more that began before.
        if (!slow || rows?.length === 0) return rows
        deepEqual(
          rows?.map((row) => row.payload),
          ['"cold"'],
        )
        slowPollHasRead.open()
        await slowPollMayEnd.passed
        return rows
      },
    })
    const listener = new RecordingListener((event) =>
      event.payload === 'cold' ? listenerMayEnd.passed : undefined,
    )
    const { outbox, metrics } = await startOutbox(test, store, { mode, listener, hotQueueCapacity: 1 })
    await writeTested(outbox, 'hot', 'cold')
    await listener.called(2)

    slow = true
    const polled = outbox.poll()
    await slowPollHasRead.passed
    listenerMayEnd.open()
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    slowPollMayEnd.open()
    await polled
    await writeTested(outbox, 'last')
    await metrics.until((seen) => seen.dispatchSuccess === 3)
    deepEqual(listener.payloads, ['hot', 'cold', 'last'])
  },
  ['singleNode'],
)

onEveryStore(
  'a poller that finds the cold queue full takes no more than there is room for',
  async (test, open, mode) => {
    const gate = new Gate()
    const listener = new RecordingListener(() => gate.passed)
    const limits: number[] = []
    const record = (real: any, request: any) => {
      limits.push(request.limit)
      return real(request)
    }
    const store = faultyStore(open(), { claim: record, pollPending: record })
    const { outbox, metrics } = await startOutbox(test, store, {
      mode,
      listener,
      workerCount: 1,
      hotQueueCapacity: 1,
      coldQueueCapacity: 4,
    })
    await writeTested(outbox, ...Array.from({ length: 30 }, (_, n) => n))
    await listener.called(1)
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    equal(metrics.coldEnqueued <= 5, true, `${metrics.coldEnqueued} taken`)
    // An owner asks for what it holds on top: four queued, one running and one from the hot queue.
    equal(Math.max(...limits) <= 4 + 6, true, `asked for ${limits.join()}`)

    gate.open()
    await metrics.until((seen) => seen.dispatchSuccess === 30)
    equal(new Set(listener.ids).size, 30)
    equal(listener.ids.length, 30)
  },
)

onEveryStore(
  'a database that is away for a while is reported, survived and gone on with',
  async (test, open, mode) => {
    let away = true
    let polls = 0
    const failing = (real: any, ...args: any[]) =>
      away ? Promise.reject(new Error('the database is away')) : real(...args)
    const polling = (real: any, ...args: any[]) => {
      polls++
      return failing(real, ...args)
    }
    const store = faultyStore(open(), {
      claim: polling,
      pollPending: polling,
      settle: failing,
      renew: failing,
    })
    const { outbox, listener, metrics, log } = await startOutbox(test, store, {
      mode,
      hotQueueCapacity: 1,
      poller: { intervalMs: 5 },
      leaseMs: 60,
    })
    const ids = await writeTested(outbox, 1, 2, 3)
    await listener.called(1)
    await until(() => polls >= 3)
    away = false
    await metrics.until((seen) => seen.dispatchSuccess >= 3)
    deepEqual([...new Set(listener.ids)].sort(), ids)
    match(log.join('\n'), /error: \w+ .*failed and will be tried again.*\. Error: the database is away/)
    match(log.join('\n'), /warn: The store answers again after/)
  },
)

onEveryStore('a row that cannot be read becomes DEAD and harms nothing else', async (test, open, mode) => {
  const real = open()
  const corrupt = (rows: readonly Row[] | undefined) =>
    rows?.map((row) => (row.payload === '"bad headers"' ? { ...row, headers: '{"half' } : row))
  const store = faultyStore(real, {
    claim: async (next, request) => corrupt(await next(request))!,
    pollPending: async (next, request) => corrupt(await next(request)),
  })
  const { outbox, listener, metrics } = await startOutbox(test, store, { mode, hotQueueCapacity: 1 })
  await writeTested(outbox, 'hot', 'bad headers', 'fine')

  await metrics.until((seen) => seen.dispatchSuccess === 2 && seen.dispatchDead === 1)
  deepEqual(listener.payloads.sort(), ['fine', 'hot'])
  const [row] = await store.query({ status: [3], limit: 5 })
  match(row!.lastError!, /^PayloadParseError: The headers of event \w+ \(Tested\) cannot be read/)
})

onEveryStore('being woken does not hurry a poller whose database is away', async (test, open, mode) => {
  let polls = 0
  const away = () => {
    polls++
    return Promise.reject(new Error('the database is away'))
  }
  const store = faultyStore(open(), { claim: away, pollPending: away })
  const { outbox, log } = await startOutbox(test, store, { mode, hotQueueCapacity: 1 })
  while (log.length === 0) await new Promise((resolve) => setImmediate(resolve))

  // Every second event finds the hot queue full and wakes the poller; so do delayed ones.
  for (let round = 0; round < 30; round++) {
    await writeTested(outbox, 'hot', 'left to the poller')
    await outbox.transaction(() => outbox.write('Tested', 'later', { deliverAfterMs: 1 }))
    await new Promise((resolve) => setImmediate(resolve))
  }
  equal(polls < 10, true, `${polls} polls`)
})

onEveryStore('an event of another process is found soon after others were', async (test, open, mode) => {
  const store = open()
  const writeElsewhere = (payload: string) =>
    store.transaction((tx) => {
      const row = EventEnvelope.ofJson('Tested', JSON.stringify(payload)).toRow(false)
      return store.insert(tx, [row], { owner: '', ms: 0 })
    })
  await store.migrate()
  await writeElsewhere('first')
  const { listener } = await startOutbox(test, store, { mode, poller: { intervalMs: 600_000 } })
  await listener.called(1)
  await writeElsewhere('second')
  await listener.called(2)
})

it('the pause between looks is short after rows were found, and doubles while none are', async () => {
  const clock = fakeClock()
  const looks: number[] = []
  const poller = pollerOf(
    clock,
    async () => {
      looks.push(clock.monotonic())
      return {
        deliveries: looks.length % 7 === 1 ? [{ row: { availableAt: 0 } } as Delivery] : [],
        hasMore: false,
      }
    },
    { intervalMs: 800, busyIntervalMs: 100 },
  )
  poller.start()
  await clock.advance(4_000)
  await Promise.all([poller.close(), clock.advance(800)])
  deepEqual(looks.slice(0, 9), [0, 100, 300, 700, 1_500, 2_300, 3_100, 3_900, 4_000])
})

it('a drain that does not end hears of what becomes due, and looks at everything again after a while', async () => {
  const clock = fakeClock()
  const heard: boolean[] = []
  const poller = pollerOf(clock, async (_limit, hasNews) => {
    heard.push(hasNews)
    if (heard.length === 2) poller.wake()
    if (heard.length === 4) poller.wake(10)
    if (heard.length === 6) await clock.advance(10)
    if (heard.length === 8) await clock.advance(1_000)
    if (heard.length === 10) void poller.close()
    return { deliveries: [], hasMore: true }
  })
  await poller.poll()
  deepEqual(heard, [true, false, true, false, false, false, true, false, true, false])
})

it('what becomes due just when there is room again is not missed', async () => {
  const clock = fakeClock()
  const heard: boolean[] = []
  const poller = pollerOf(clock, async (_limit, hasNews) => {
    heard.push(hasNews)
    return noPending
  })
  poller.start()
  clock.schedule(10, () => poller.resume())
  poller.wake(10)
  await clock.advance(10)
  await poller.close()
  deepEqual(heard, [true, true])
})

/** A poller that looks by calling `fetch`, and always has room. */
function pollerOf(
  clock: Clock,
  fetch: PendingSource['fetch'],
  options: Partial<OutboxPollerOptions> = {},
): OutboxPoller {
  return new OutboxPoller({
    source: { fetch },
    handler: { handle: () => true, availableCapacity: () => 1 },
    clock,
    ...options,
  })
}
