import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../src/clock.ts'
import { LatencyBuckets } from '../../src/latency-buckets.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ProcessReporter } from '../../src/hold/process-reporter.ts'
import type { DeliveryInStatistics } from '../../src/observe/delivery-counts.ts'
import type { ReportRequest } from '../../src/store/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { sendoffVersion } from '../../src/version.ts'
import { Gate } from '../fixtures/gate.ts'
import { SignalMetrics } from '../fixtures/signal-metrics.ts'

const minute = 1_800_000_000_000

describe('the reports of a process', () => {
  it('a process that delivered reports after 5 s, and again while it delivers', async () => {
    const { reporter, tick, sent } = newReporter()
    reporter.counts.add(delivery())
    await tick(4_999)
    equal(sent.length, 0)
    await tick(1)
    reporter.counts.add(delivery({ isHot: true, listenerMs: 2 }))
    await tick(5_000)
    await tick(60_000)

    deepEqual(
      sent.map(({ statistics }) =>
        statistics.map(({ minute: at, done, hot, listenerMs }) => ({ at, done, hot, listenerMs })),
      ),
      [[{ at: minute, done: 1, hot: 0, listenerMs: 0 }], [{ at: minute, done: 2, hot: 1, listenerMs: 2 }]],
    )
    equal(sent[1]!.report.hotShare, 0.5)
  })

  it('an idle process reports with its heartbeat, and a busy one does not report twice', async () => {
    const { reporter, tick, sent } = newReporter()
    reporter.heartbeat()
    await tick(0)
    equal(sent.length, 1)
    equal(sent[0]!.report.hotShare, null)
    reporter.counts.add(delivery())
    await tick(5_000)
    reporter.heartbeat()
    await tick(0)
    equal(sent.length, 2)
  })

  it('an idle process without news reports with every fourth heartbeat', async () => {
    const { reporter, tick, sent } = newReporter()
    for (let beat = 0; beat < 10; beat += 1) {
      reporter.heartbeat()
      await tick(24_000)
    }
    equal(sent.length, 3)
  })

  it('a new minute begins with new counts, after the last ones of the old minute were sent', async () => {
    const { reporter, tick, sent } = newReporter()
    await tick(56_000)
    reporter.counts.add(delivery())
    await tick(5_000)
    reporter.counts.add(delivery())
    await tick(5_000)

    deepEqual(
      sent.flatMap(({ statistics }) => statistics.map(({ minute: at, done }) => [at - minute, done])),
      [
        [0, 1],
        [60_000, 1],
      ],
    )
  })

  it('counts that the store did not take come with a later report, whatever the minute', async () => {
    const { reporter, tick, sent, store, warnings } = newReporter()
    store.fails = true
    reporter.counts.add(delivery())
    await tick(5_000)
    reporter.counts.add(delivery())
    await tick(70_000)
    reporter.counts.add(delivery({ eventType: 'B' }))
    await tick(5_000)
    equal(sent.length, 0)
    store.fails = false
    reporter.heartbeat()
    await tick(0)
    reporter.heartbeat()
    reporter.heartbeat()
    await tick(0)

    deepEqual(
      sent[0]!.statistics.map(({ minute: at, eventType, done }) => [at - minute, eventType, done]),
      [
        [0, 'A', 2],
        [60_000, 'B', 1],
      ],
    )
    equal(warnings.length, 1)
    match(warnings[0]!, /could not report what it does; it delivers all the same/)
  })

  it('minutes are those of the store’s clock', async () => {
    const { reporter, tick, sent, store } = newReporter()
    store.aheadMs = 3_600_000
    reporter.heartbeat()
    await tick(0)
    reporter.counts.add(delivery())
    await tick(5_000)
    equal(sent[1]!.statistics[0]!.minute, minute + 3_600_000)
  })

  it('beyond 200 kinds, deliveries are counted as other', async () => {
    const { reporter, tick, sent } = newReporter()
    for (let kind = 0; kind < 300; kind += 1) reporter.counts.add(delivery({ eventType: `E${kind}` }))
    await tick(5_000)

    const { statistics } = sent[0]!
    equal(statistics.length, 201)
    deepEqual([statistics.at(-1)!.eventType, statistics.at(-1)!.done], ['other', 100])
  })

  for (const { mode, waiting, held, partitions, hotShare } of [
    {
      mode: 'multiNode',
      waiting: { hot: 2, cold: 0 },
      held: { leased: 3, locked: 0 },
      partitions: 0,
      hotShare: 1,
    },
    {
      mode: 'partitioned',
      waiting: { hot: 0, cold: 2 },
      held: { leased: 0, locked: 3 },
      partitions: 256,
      hotShare: 0,
    },
  ] as const) {
    it(`an outbox reports what waits in its queues, what it holds, and its latencies, in ${mode}`, async (t) => {
      const clock = fakeClock()
      const store = memoryStore({ now: clock.now })
      const metrics = new SignalMetrics()
      const gate = new Gate()
      const outbox = await Outbox[mode]({ store, clock, metrics, logger: false, workerCount: 1 })
        .on('A', () => gate.passed)
        .start()
      t.after(async () => {
        gate.open()
        await clock.advance(5_000)
        await outbox.close()
      })
      const report = async () => (await store.reports.living())[0]!.report!
      await outbox.transaction(async () => {
        for (const orderingKey of ['a', 'b', 'c']) await outbox.write('A', 1, { orderingKey })
      })
      // Until a heartbeat.
      await clock.advance(30_000)
      const busy = await report()
      deepEqual([busy.queues, busy.held, busy.partitions], [waiting, held, partitions])

      gate.open()
      await clock.advance(5_000)
      equal(metrics.dispatchSuccess, 3)
      await clock.advance(5_000)
      const idle = await report()
      deepEqual(
        [idle.queues, idle.held, idle.partitions, idle.hotShare],
        [{ hot: 0, cold: 0 }, { leased: 0, locked: 0 }, partitions, hotShare],
      )
      const listener = LatencyBuckets.parse(idle.listenerBuckets)
      listener.merge(LatencyBuckets.parse(idle.listenerBuckets))
      deepEqual([listener.count, listener.percentile(0.5)! > 0], [6, true])
    })
  }

  it('an outbox reports what it is, and what it delivered, before it leaves', async () => {
    const store = memoryStore()
    const metrics = new SignalMetrics()
    const outbox = await Outbox.multiNode({ store, metrics, logger: false, ownerId: 'me' })
      .on('Good', () => {})
      .on('Bad', () => {
        throw new Error('no')
      })
      .start()
    const [living] = await store.reports.living()
    match(living!.id, /^me-/)
    equal(living!.mode, 'multiNode')
    deepEqual(living!.report?.types, ['Good', 'Bad'])
    deepEqual([living!.report?.version, living!.report?.pid], [sendoffVersion, process.pid])

    await outbox.transaction(async () => {
      await outbox.write('Good', 1)
      await outbox.write('Bad', 1)
    })
    await metrics.until((seen) => seen.dispatchSuccess === 1 && seen.dispatchFailure >= 1)
    await outbox.close()
    deepEqual(await store.reports.living(), [])
    const rows = await store.reports.statistics({ lastMs: 120_000, limit: 10 })
    const byType = new Map(rows.map((row) => [row.eventType, row]))
    deepEqual([byType.get('Good')?.done, byType.get('Good')?.hot], [1, 1])
    ok(byType.get('Bad')!.failed >= 1)
    ok(byType.get('Good')!.deliveryBuckets !== '' && byType.get('Good')!.listenerBuckets !== '')
    equal(byType.get('Good')!.node, living!.id)
  })
})

function delivery(fields: Partial<DeliveryInStatistics> = {}): DeliveryInStatistics {
  const plain = { eventType: 'A', destination: '', end: 'done', isHot: false } as const
  return { ...plain, listenerMs: undefined, deliveryMs: 1, ...fields }
}

function newReporter() {
  const sent: ReportRequest[] = []
  const warnings: string[] = []
  const store = { fails: false, aheadMs: 0 }
  let now = minute
  const timers: { at: number; callback: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    schedule(ms, callback) {
      const timer = { at: now + ms, callback }
      timers.push(timer)
      return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0)
    },
    defer: (callback) => void setImmediate(callback),
  }
  const reporter = new ProcessReporter({
    id: 'me',
    clock,
    logger: { debug() {}, info() {}, warn: (text) => void warnings.push(text), error() {} },
    describe: () => ({
      version: '1',
      host: 'h',
      pid: 1,
      startedAt: minute,
      types: [],
      queues: { hot: 0, cold: 0 },
      held: { leased: 0, locked: 0 },
      partitions: 0,
    }),
    reports: {
      async report(request) {
        if (store.fails) throw new Error('away')
        sent.push(request)
        return { isLiving: true, now: now + store.aheadMs }
      },
      living: async () => [],
      statistics: async () => [],
      forgetStatistics: async () => 0,
    },
  })
  return { reporter, sent, warnings, store, tick }

  async function tick(ms: number): Promise<void> {
    const end = now + ms
    for (;;) {
      const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      now = Math.max(now, next.at)
      timers.splice(timers.indexOf(next), 1)
      next.callback()
      await settled()
    }
    now = end
    await settled()
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
