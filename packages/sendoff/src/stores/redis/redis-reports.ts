import type { MinuteStatistics, OutboxReports } from '../../store/index.ts'
import { readReport } from '../report-text.ts'
import type { RunScript } from './drivers/run-script.ts'
import {
  forgetStatisticsScript,
  livingScript,
  reportScript,
  statisticsScript,
} from './scripts/report-scripts.ts'

type Node = readonly [
  id: string,
  mode: string,
  startedAt: number | null,
  ttlMs: number,
  reportedAt: number | null,
  report: string | null,
]

/** Seconds that Redis keeps statistics if no process reports any more: eight days. */
const keptSeconds = 691_200

/** The reports and statistics of a Redis store. */
export function redisReports(run: RunScript): OutboxReports {
  return {
    async report({ id, report, statistics }) {
      const rows = statistics.flatMap((each) => {
        const { minute, eventType, destination } = each
        return [String(minute), JSON.stringify([minute, id, eventType, destination]), JSON.stringify(each)]
      })
      const values = [id, JSON.stringify(report), String(keptSeconds), ...rows]
      const [isLiving, now] = (await run(reportScript, values)) as [number, number]
      return { isLiving: isLiving === 1, now }
    },

    async living() {
      const nodes = (await run(livingScript, [])) as readonly Node[]
      return nodes
        .map(([id, mode, startedAt, ttlMs, reportedAt, report]) => ({
          id,
          mode: mode.slice(1) || null,
          startedAt,
          ttlMs,
          report: readReport(report),
          reportedAt,
        }))
        .sort((a, b) => (a.id < b.id ? -1 : 1))
    },

    async statistics({ lastMs, limit }) {
      const values = [String(lastMs), String(limit)]
      const [fields, texts] = (await run(statisticsScript, values)) as [string[], (string | null)[]]
      return fields.flatMap((field, index) => {
        const text = texts[index]
        if (text === null || text === undefined) return []
        const [, node] = JSON.parse(field) as [number, string]
        return [{ ...(JSON.parse(text) as Omit<MinuteStatistics, 'node'>), node }]
      })
    },

    forgetStatistics: async ({ olderThanMs, limit }) =>
      (await run(forgetStatisticsScript, [String(olderThanMs), String(limit)])) as number,
  }
}
