import type { OutboxControls, OutboxNodes } from '../../store/index.ts'

interface Node {
  readonly id: string
  readonly mode: string | null
  readonly until: number
}

/** The processes that use a memory store. */
export function memoryNodes(now: () => number, controls: OutboxControls): OutboxNodes {
  let nodes: Node[] = []
  let lastMode: string | null = null

  return {
    async join({ id, mode, ttlMs }) {
      const time = now()
      nodes = nodes.filter((node) => node.until > time)

      const others = nodes.filter((node) => node.id !== id)
      const living = others.find((node) => node.mode !== null)?.mode ?? null
      if (mode !== null && living !== null && living !== mode) {
        const ofLiving = others.filter((node) => node.mode === living)
        return { kind: 'conflict', mode: living, nodes: ofLiving.map((node) => node.id).sort() }
      }

      nodes = [...others, { id, mode, until: time + ttlMs }]
      lastMode = mode ?? lastMode
      return { kind: 'joined', paused: await controls.paused(), mode: lastMode }
    },

    async leave(id) {
      nodes = nodes.filter((node) => node.id !== id)
    },
  }
}
