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
    name: 'one holder at a time',
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
    name: 'what is settled for good is not delivered again',
    *violations(history) {
      for (const [id, deliveries] of history.deliveries) {
        const settled = history.settlements.get(id)?.find(isFinal)
        if (settled === undefined) continue
        for (const [index, delivery] of deliveries.entries()) {
          if (delivery.at <= settled.at) continue
          const isLate = deliveries.slice(0, index).some((earlier) => isLateStart(history, earlier, delivery))
          // Its process had read it before that, and nobody has told it yet that somebody else has its lock.
          if (!isLate && !history.wasLockHarmed(delivery, delivery.at)) {
            yield `${describe(delivery)}, after ${settled.process} had settled it as ${settled.outcome} at ${settled.at}`
          }
        }
      }
    },
  },
]

/** Whether the store took the event for DONE or DEAD. */
export function isFinal({ outcome, refused }: { outcome: string; refused: boolean }): boolean {
  return !refused && (outcome === 'done' || outcome === 'dead' || outcome === 'delete')
}

/** Every delivery with the one before it. */
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
