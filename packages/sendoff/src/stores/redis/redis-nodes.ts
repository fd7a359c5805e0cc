import type { OutboxNodes } from '../../store/index.ts'
import { pauseTargets } from './redis-controls.ts'
import { type RoutingAnswer, storedRouting } from './redis-routing.ts'
import type { RunScript } from './drivers/run-script.ts'
import { joinScript, leaveScript } from './scripts/upkeep-scripts.ts'

type Answer =
  | readonly [joined: 1, paused: readonly string[], lastMode: string, routing: RoutingAnswer]
  | readonly [joined: 0, mode: string, nodes: readonly string[]]

/** The processes that use a Redis store. */
export function redisNodes(run: RunScript): OutboxNodes {
  return {
    async join({ id, mode, ttlMs }) {
      const answer = (await run(joinScript, [id, mode === null ? '' : `=${mode}`, String(ttlMs)])) as Answer
      if (answer[0] === 0) return { kind: 'conflict', mode: answer[1].slice(1), nodes: answer[2] }
      return {
        kind: 'joined',
        paused: pauseTargets(answer[1]),
        mode: answer[2].slice(1) || null,
        routing: storedRouting(answer[3]),
      }
    },

    leave: async (id) => void (await run(leaveScript, [id])),
  }
}
