import type { NewAuditEntry, OutboxControls, PauseTarget } from '../../store/index.ts'
import type { RunScript } from './drivers/run-script.ts'
import { entryValues } from './redis-actions.ts'
import { pausedScript, pauseScript, resumeScript } from './scripts/upkeep-scripts.ts'

/** The controls of a Redis store. */
export function redisControls(run: RunScript): OutboxControls {
  return {
    pause: async (target, audit) => void (await run(pauseScript, [nameOf(target), ...auditValues(audit)])),

    async resume(target, audit) {
      let isMore = (await run(resumeScript, [nameOf(target), ...auditValues(audit)])) === 1
      while (isMore) isMore = (await run(resumeScript, [''])) === 1
    },

    paused: async () => pauseTargets((await run(pausedScript, [])) as readonly string[]),
  }
}

/** Returns what is paused. `names` are those that scripts use. */
export function pauseTargets(names: readonly string[]): readonly PauseTarget[] {
  return [...names].sort().map((name) => {
    const value = name.slice(name.indexOf(':') + 1)
    return name.startsWith('type:') ? { eventType: value } : { destination: value }
  })
}

function nameOf(target: PauseTarget): string {
  return 'eventType' in target ? `type:${target.eventType}` : `destination:${target.destination}`
}

function auditValues(audit: NewAuditEntry | undefined): readonly string[] {
  return audit === undefined ? [] : [JSON.stringify(entryValues(audit))]
}
