import { coveredMs, type JudgedHistory } from '../judged-history.ts'
import type { Rule } from './rule.ts'

export const recoveryRules: readonly Rule[] = [
  {
    name: 'what was due in an outage starts within seconds of its end',
    *violations(history) {
      const { recoveryMs } = history.settings
      const common = history.outages.filter(({ slot }) => slot === undefined)
      for (const { event, what, since, until } of recoveries(history)) {
        const allowedMs = recoveryMs + coveredMs(common, since, until)
        if (until - since > allowedMs) {
          yield `${event} was due when ${what} was over at ${since}, and started ${tookTooLong(since, until, allowedMs)}`
        }
      }
    },
  },
  {
    name: 'what was due at the last fault is delivered within seconds of it',
    *violations(history) {
      const { recoveryMs } = history.settings
      for (const { event, what, since, until } of lastDeliveries(history)) {
        if (until - since > recoveryMs) {
          yield `${event} was due at ${what}, and was delivered ${tookTooLong(since, until, recoveryMs)}`
        }
      }
    },
  },
]

/** The wait of an event after the harm was over that it may have had to wait for. */
export interface Recovery {
  readonly event: string
  readonly what: string
  readonly since: number
  readonly until: number
}

/** Everything that was due when an outage of everybody ended, and had not started before. */
export function* recoveries(history: JudgedHistory): Iterable<Recovery> {
  const common = history.outages.filter(({ slot }) => slot === undefined)
  for (const { id, dueAt } of dueTimes(history)) {
    const until = history.deliveries.get(id)?.[0]?.at
    if (until === undefined) continue
    // The one that it had to wait for longest.
    const outage = common.find(({ to }) => dueAt <= to && to < until)
    if (outage !== undefined) yield { event: id, what: outage.what, since: outage.to, until }
  }
}

/** Everything that was due when the last harm was over and was delivered, perhaps again, after that. */
export function* lastDeliveries(history: JudgedHistory): Iterable<Recovery> {
  const since = history.lastFaultAt
  for (const { id, dueAt } of dueTimes(history)) {
    const until = history.deliveries.get(id)?.at(-1)?.at
    if (until !== undefined && dueAt <= since && since < until) {
      yield { event: id, what: 'the last fault', since, until }
    }
  }
}

/** When events fell due for the first time: not before they were written. */
function* dueTimes(history: JudgedHistory): Iterable<{ readonly id: string; readonly dueAt: number }> {
  for (const { id, at, notBefore = at } of history.written.values()) yield { id, dueAt: notBefore }
}

function tookTooLong(since: number, until: number, allowedMs: number): string {
  return `after ${Math.round(until - since)} ms instead of ${Math.round(allowedMs)}`
}
