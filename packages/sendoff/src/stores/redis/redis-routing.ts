import type { OutboxRouting, StoredRouting } from '../../store/index.ts'
import { routingRevision } from '../schema-revision.ts'
import type { RunScript } from './drivers/run-script.ts'
import { publishRoutingScript, routingScript } from './scripts/upkeep-scripts.ts'

/** The stored routing, as scripts return it. */
export type RoutingAnswer = readonly [version: string | null, content: string | null]

/** The routing of a Redis store. */
export function redisRouting(run: RunScript): OutboxRouting {
  return {
    async publish(routing) {
      const values = [String(routing.version), routing.content, String(routingRevision)]
      return storedRouting((await run(publishRoutingScript, values)) as RoutingAnswer) ?? routing
    },
    current: async () => storedRouting((await run(routingScript, [])) as RoutingAnswer),
  }
}

/** Returns the routing that a script found; null if there is none. */
export function storedRouting([version, content]: RoutingAnswer): StoredRouting | null {
  return version === null || content === null ? null : { version: Number(version), content }
}
