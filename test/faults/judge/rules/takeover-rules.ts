import type { JudgedDelivery, JudgedHistory } from '../judged-history.ts'
import { describe } from './duplicate-rules.ts'
import type { Rule } from './rule.ts'

export const takeoverRules: readonly Rule[] = [
  {
    name: 'events that a killed process held are delivered again within the lease',
    *violations(history) {
      const { leaseMs, intervalMs, marginMs } = history.settings
      for (const { held, next, killedAt } of takeovers(history)) {
        const allowedMs =
          leaseMs + intervalMs + marginMs + history.otherFaultsMs(held.process, killedAt, next.at)
        const tookMs = next.at - killedAt
        if (tookMs > allowedMs) {
          yield `${describe(held)}, killed at ${killedAt}, came again after ${Math.round(tookMs)} ms instead of ${Math.round(allowedMs)}`
        }
      }
    },
  },
  {
    name: 'a process that is asked to end does so in time',
    *violations(history) {
      for (const record of history.evidence.history) {
        if (record.kind === 'stuck') yield `${record.target} had to be killed at ${record.at}`
      }
    },
  },
  {
    name: 'no process ends on its own',
    *violations(history) {
      for (const record of history.evidence.history) {
        if (record.kind !== 'exit' || record.expected) continue
        const end = record.signal ?? `exit code ${record.code}`
        yield `${record.target} ended with ${end}. ${record.output ?? ''}`
      }
    },
  },
]

export interface Takeover {
  readonly held: JudgedDelivery
  readonly next: JudgedDelivery
  readonly killedAt: number
}

/** Returns the deliveries that a killed process held and that came again. */
export function* takeovers(history: JudgedHistory): Iterable<Takeover> {
  for (const deliveries of history.deliveries.values()) {
    for (const [index, held] of deliveries.entries()) {
      const killedAt = history.killedAt(held.process)
      const next = deliveries[index + 1]
      if (killedAt === undefined || next === undefined || next.at <= killedAt) continue
      if (!wasLetGo(history, held, killedAt)) yield { held, next, killedAt }
    }
  }
}

function wasLetGo(history: JudgedHistory, held: JudgedDelivery, killedAt: number): boolean {
  // It ended as planned and waits for its time. Its process died before it could record whether that was
  // settled.
  if (held.endedAt !== undefined && held.act !== 'succeed') return true
  // Given up, it was settled as a failure.
  if (held.act === 'hang') return true
  return (history.settlements.get(held.event) ?? []).some(
    ({ process, since, at, refused }) =>
      process === held.process && since > held.at && at <= killedAt && !refused,
  )
}
