import { explained, explainedWhileRunning, isLateStart } from '../explained.ts'
import type { JudgedDelivery } from '../judged-history.ts'
import type { Rule } from './rule.ts'

export const duplicateRules: readonly Rule[] = [
  {
    name: 'no duplicate without a fault',
    *violations(history) {
      for (const [first, second] of repeats(history.deliveries.values())) {
        if (explained(history, first, second) === undefined) {
          yield `${describe(first)}, and again ${describe(second)}, and nothing explains it`
        }
      }
    },
  },
  {
    name: 'an event has one holder at a time',
    *violations(history) {
      for (const [first, second] of repeats(history.deliveries.values())) {
        const overlap = first.endedAt === undefined || first.endedAt > second.at
        if (overlap && explainedWhileRunning(history, first, second) === undefined) {
          yield `${describe(first)} was still running when ${second.process} began at ${second.at}`
        }
      }
    },
  },
  {
    name: 'a delivery is told to stop before another begins',
    *violations(history) {
      const { leaseMs } = history.settings
      for (const [first, second] of repeats(history.deliveries.values())) {
        const { process, at, endedAt = Infinity, abortedAt = Infinity } = first
        // A timer may be a little late.
        if (Math.min(endedAt, abortedAt) <= second.at + leaseMs / 4) continue
        if (history.hadEnded(process, second.at) || (history.killedAt(process) ?? Infinity) < second.at)
          continue
        if (history.wasStill(process, at - leaseMs, second.at) || isLateStart(history, first, second))
          continue
        if (history.wasLockHarmed(first, second.at) || history.wasLockHarmed(second, second.at)) continue
        yield `${describe(first)} was told to stop ${abortedAt === Infinity ? 'never' : `at ${abortedAt}`}, and ${second.process} began at ${second.at}`
      }
    },
  },
  {
    name: 'a process does not deliver an event again that it delivered successfully',
    *violations(history) {
      const keptMs = 3 * history.settings.leaseMs
      for (const deliveries of history.deliveries.values()) {
        for (const [index, second] of deliveries.entries()) {
          const first = deliveries
            .slice(0, index)
            .findLast(({ process, act }) => process === second.process && act === 'succeed')
          const endedAt = first?.endedAt ?? Infinity
          if (first !== undefined && endedAt < second.at && second.at - endedAt < keptMs) {
            yield `${describe(first)}, and again ${describe(second)}`
          }
        }
      }
    },
  },
  {
    name: 'an event that is settled for good is not delivered again',
    *violations(history) {
      for (const [id, deliveries] of history.deliveries) {
        const settled = history.settlements.get(id)?.find(isFinal)
        if (settled === undefined) continue
        for (const [index, delivery] of deliveries.entries()) {
          if (delivery.at <= settled.at) continue
          const isLate = deliveries.slice(0, index).some((earlier) => isLateStart(history, earlier, delivery))
          // Its process had read it before that, and does not know yet that another process has its lock.
          if (!isLate && !history.wasLockHarmed(delivery, delivery.at)) {
            yield `${describe(delivery)}, after ${settled.process} had settled it as ${settled.outcome} at ${settled.at}`
          }
        }
      }
    },
  },
]

/** Returns whether the store accepted the event as DONE or DEAD. */
export function isFinal({ outcome, refused }: { outcome: string; refused: boolean }): boolean {
  return !refused && (outcome === 'done' || outcome === 'dead' || outcome === 'delete')
}

/** Returns every delivery with the one before it. */
export function* repeats(
  lists: Iterable<readonly JudgedDelivery[]>,
): Iterable<readonly [JudgedDelivery, JudgedDelivery]> {
  for (const deliveries of lists) {
    for (let index = 1; index < deliveries.length; index++) yield [deliveries[index - 1]!, deliveries[index]!]
  }
}

export function describe({ event, process, token, attempt, act, at, endedAt }: JudgedDelivery): string {
  return `${event} (${act}) with token ${token}, attempt ${attempt}, by ${process} from ${at} to ${endedAt ?? 'never'}`
}
