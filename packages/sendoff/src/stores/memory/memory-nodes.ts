import type { OutboxControls, OutboxNodes, OutboxRouting, ProcessReport } from '../../store/index.ts'

/** A process that is registered in memory. */
export interface MemoryNode {
  readonly id: string
  readonly mode: string | null
  readonly startedAt: number
  readonly until: number
  readonly report: ProcessReport | null
  readonly reportedAt: number | null
}

/** The registered processes by id. */
export type MemoryNodes = Map<string, MemoryNode>

/** The processes that use a memory store. */
export function memoryNodes(
  now: () => number,
  controls: OutboxControls,
  routing: OutboxRouting,
  nodes: MemoryNodes,
): OutboxNodes {
  let lastMode: string | null = null

  return {
    async join({ id, mode, ttlMs }) {
      const time = now()
      for (const node of nodes.values()) if (node.until <= time) nodes.delete(node.id)

      const others = [...nodes.values()].filter((node) => node.id !== id)
      const living = others.find((node) => node.mode !== null)?.mode ?? null
      if (mode !== null && living !== null && living !== mode) {
        const ofLiving = others.filter((node) => node.mode === living)
        return { kind: 'conflict', mode: living, nodes: ofLiving.map((node) => node.id).sort() }
      }

      const { startedAt = time, report = null, reportedAt = null } = nodes.get(id) ?? {}
      nodes.set(id, { id, mode, startedAt, until: time + ttlMs, report, reportedAt })
      lastMode = mode ?? lastMode
      return {
        kind: 'joined',
        paused: await controls.paused(),
        mode: lastMode,
        routing: await routing.current(),
      }
    },

    async leave(id) {
      nodes.delete(id)
    },
  }
}
