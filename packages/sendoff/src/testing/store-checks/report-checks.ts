import { deepEqual, equal, ok } from 'node:assert/strict'
import type { MinuteStatistics, ProcessReport, ReportRequest } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'

const minuteMs = 60_000

export const reportChecks: readonly PartCheck[] = [
  {
    name: 'reports: every living process is returned by id, with its mode and its last report',
    needs: ['reports'],
    async run({ store }) {
      await store.nodes.join({ id: 'b', mode: 'multiNode', ttlMs: 30_000 })
      await store.nodes.join({ id: 'a', mode: null, ttlMs: 30_000 })
      await store.reports.report({ id: 'b', report: reportOf({ pid: 1 }), statistics: [] })
      const answer = await store.reports.report({ id: 'b', report: reportOf({ pid: 2 }), statistics: [] })
      const [first, second, ...rest] = await store.reports.living()

      equal(answer.isLiving, true)
      deepEqual(rest, [])
      deepEqual([first?.id, first?.mode, first?.report, first?.reportedAt], ['a', null, null, null])
      deepEqual([second?.id, second?.mode, second?.report], ['b', 'multiNode', reportOf({ pid: 2 })])
      ok(Math.abs(second!.reportedAt! - answer.now) < 60_000)
      ok(second!.ttlMs > 0 && second!.ttlMs <= 30_000)
    },
  },
  {
    name: 'reports: a process keeps its start and its report while it joins again',
    needs: ['reports'],
    async run({ store, wait }) {
      await store.nodes.join({ id: 'a', mode: 'multiNode', ttlMs: 30_000 })
      await store.reports.report({ id: 'a', report: reportOf(), statistics: [] })
      const [before] = await store.reports.living()
      await wait(20)
      await store.nodes.join({ id: 'a', mode: 'multiNode', ttlMs: 30_000 })
      const [after] = await store.reports.living()

      deepEqual(after?.report, reportOf())
      equal(after?.startedAt, before?.startedAt)
      equal(after?.reportedAt, before?.reportedAt)
    },
  },
  {
    name: 'reports: a process that left or whose time ran out is not returned, and its report is gone',
    needs: ['reports'],
    async run({ store, wait }) {
      await store.nodes.join({ id: 'left', mode: 'multiNode', ttlMs: 30_000 })
      await store.nodes.join({ id: 'late', mode: 'multiNode', ttlMs: 50 })
      await store.reports.report({ id: 'left', report: reportOf(), statistics: [] })
      await store.reports.report({ id: 'late', report: reportOf(), statistics: [] })
      await store.nodes.leave('left')
      await wait(60)

      deepEqual(await store.reports.living(), [])
      await store.nodes.join({ id: 'left', mode: 'multiNode', ttlMs: 30_000 })
      await store.nodes.join({ id: 'late', mode: 'multiNode', ttlMs: 30_000 })
      deepEqual(
        (await store.reports.living()).map(({ id, report }) => [id, report]),
        [
          ['late', null],
          ['left', null],
        ],
      )
    },
  },
  {
    name: 'reports: a process that is not registered stores no report, but its statistics count',
    needs: ['reports'],
    async run({ store }) {
      const { now } = await store.reports.report({ id: 'x', report: reportOf(), statistics: [] })
      const statistics = [statisticsOf(minuteOf(now))]
      const answer = await store.reports.report({ id: 'x', report: reportOf(), statistics })

      equal(answer.isLiving, false)
      deepEqual(await store.reports.living(), [])
      equal((await store.reports.statistics({ lastMs: 2 * minuteMs, limit: 10 })).length, 1)
    },
  },
  {
    name: 'statistics: rows are returned as they were reported, newest minute first, up to a limit',
    needs: ['reports'],
    async run({ store }) {
      const minute = await currentMinute(store.reports)
      const older = statisticsOf(minute - minuteMs, { eventType: 'Paid', destination: 'é "x"', failed: 3 })
      const newer = statisticsOf(minute, { listenerMs: 1.5, listenerBuckets: '3:1 7:2', done: 5 })
      await store.reports.report({ id: 'a', report: reportOf(), statistics: [older, newer] })

      const all = await store.reports.statistics({ lastMs: 10 * minuteMs, limit: 10 })
      deepEqual(all, [
        { ...newer, node: 'a' },
        { ...older, node: 'a' },
      ])
      deepEqual(await store.reports.statistics({ lastMs: 10 * minuteMs, limit: 1 }), [
        { ...newer, node: 'a' },
      ])
    },
  },
  {
    name: 'statistics: a row replaces that of the same minute, process, type and destination, and no other',
    needs: ['reports'],
    async run({ store }) {
      const minute = await currentMinute(store.reports)
      const report = (id: string, fields: Partial<MinuteStatistics>) =>
        store.reports.report({ id, report: reportOf(), statistics: [statisticsOf(minute, fields)] })
      await report('a', { done: 1 })
      await report('b', { done: 2 })
      await report('a', { done: 3, destination: 'x' })
      await report('a', { done: 4, eventType: 'Other' })
      await report('a', { done: 5 })

      const all = await store.reports.statistics({ lastMs: 10 * minuteMs, limit: 10 })
      deepEqual(all.map(({ done }) => done).sort(), [2, 3, 4, 5])
    },
  },
  {
    name: 'statistics: old rows are deleted in batches, and younger ones stay',
    needs: ['reports'],
    async run({ store }) {
      const minute = await currentMinute(store.reports)
      const statistics = [50, 40, 30, 0].map((ago) => statisticsOf(minute - ago * minuteMs))
      await store.reports.report({ id: 'a', report: reportOf(), statistics })
      const request = { olderThanMs: 20 * minuteMs, limit: 2 }

      equal(await store.reports.forgetStatistics(request), 2)
      equal(await store.reports.forgetStatistics(request), 1)
      equal(await store.reports.forgetStatistics(request), 0)
      deepEqual(
        (await store.reports.statistics({ lastMs: 60 * minuteMs, limit: 10 })).map((row) => row.minute),
        [minute],
      )
    },
  },
  {
    name: 'reports: two processes report at the same time, and both are stored',
    needs: ['reports'],
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      const minute = await currentMinute(store.reports)
      await store.nodes.join({ id: 'a', mode: 'multiNode', ttlMs: 30_000 })
      await other.nodes.join({ id: 'b', mode: 'multiNode', ttlMs: 30_000 })
      const request = (id: string): ReportRequest => ({
        id,
        report: reportOf(),
        statistics: Array.from({ length: 5 }, (_, index) => statisticsOf(minute - index * minuteMs)),
      })
      await Promise.all([store.reports.report(request('a')), other.reports.report(request('b'))])

      deepEqual(
        (await other.reports.living()).map(({ report }) => report),
        [reportOf(), reportOf()],
      )
      equal((await store.reports.statistics({ lastMs: 60 * minuteMs, limit: 100 })).length, 10)
    },
  },
]

interface Reports {
  report(request: ReportRequest): Promise<{ readonly now: number }>
}

async function currentMinute(reports: Reports): Promise<number> {
  return minuteOf((await reports.report({ id: 'none', report: reportOf(), statistics: [] })).now)
}

function minuteOf(time: number): number {
  return Math.floor(time / minuteMs) * minuteMs
}

function reportOf(fields: Partial<ProcessReport> = {}): ProcessReport {
  return {
    version: '1.2.3',
    host: 'höst "1"',
    pid: 4,
    startedAt: 5,
    types: ['A', "B's"],
    queues: { hot: 1, cold: 2 },
    held: { leased: 3, locked: 4 },
    partitions: 6,
    hotShare: 0.25,
    listenerBuckets: '3:1',
    ...fields,
  }
}

function statisticsOf(
  minute: number,
  fields: Partial<MinuteStatistics> = {},
): Omit<MinuteStatistics, 'node'> {
  return {
    minute,
    eventType: 'Placed',
    destination: '',
    done: 1,
    failed: 0,
    dead: 0,
    deferred: 0,
    hot: 1,
    listenerMs: 0,
    listenerBuckets: '',
    deliveryBuckets: '',
    ...fields,
  }
}
