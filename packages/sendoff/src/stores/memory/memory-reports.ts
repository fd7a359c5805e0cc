import type { MinuteStatistics, OutboxReports } from '../../store/index.ts'
import type { MemoryNodes } from './memory-nodes.ts'

/** The reports and statistics of a memory store. */
export function memoryReports(now: () => number, nodes: MemoryNodes): OutboxReports {
  const statistics = new Map<string, MinuteStatistics>()

  return {
    async report({ id, report, statistics: given }) {
      const time = now()
      for (const each of given) statistics.set(keyOf({ ...each, node: id }), { ...each, node: id })
      const node = nodes.get(id)
      const isLiving = node !== undefined && node.until > time
      if (isLiving) nodes.set(id, { ...node, report: structuredClone(report), reportedAt: time })
      return { isLiving, now: time }
    },

    async living() {
      const time = now()
      return [...nodes.values()]
        .filter(({ until }) => until > time)
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ until, ...node }) => ({ ...node, ttlMs: until - time }))
    },

    async statistics({ lastMs, limit }) {
      const first = now() - lastMs
      return [...statistics.values()]
        .filter(({ minute }) => minute >= first)
        .sort((a, b) => (keyOf(a) > keyOf(b) ? -1 : 1))
        .slice(0, limit)
    },

    async forgetStatistics({ olderThanMs, limit }) {
      const first = now() - olderThanMs
      const old = [...statistics].filter(([, { minute }]) => minute < first).slice(0, limit)
      old.forEach(([key]) => statistics.delete(key))
      return old.length
    },
  }
}

function keyOf({ minute, node, eventType, destination }: MinuteStatistics): string {
  return [String(minute).padStart(16, '0'), node, eventType, destination].join('\0')
}
