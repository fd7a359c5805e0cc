import { isLateStart } from '../explained.ts'
import type { FailedSettlement, JudgedDelivery, JudgedHistory, JudgedSettlement } from '../judged-history.ts'
import { describe, isFinal, repeats } from './duplicate-rules.ts'
import type { Rule } from './rule.ts'

export const fenceRules: readonly Rule[] = [
  {
    name: 'an event is settled for good once',
    *violations(history) {
      for (const [id, settlements] of history.settlements) {
        const final = settlements.filter(isFinal)
        if (final.length > 1) {
          yield `${id} was settled ${final.length} times: ${final.map(describeSettlement).join('; ')}`
        }
      }
    },
  },
  {
    name: 'the settlement of a stale holder is refused',
    *violations(history) {
      for (const settlements of history.settlements.values()) {
        for (const settlement of settlements) {
          const overruled = settlement.refused ? undefined : laterHolder(history, settlement)
          if (overruled !== undefined) {
            yield `${describeSettlement(settlement)} was accepted, although ${describe(overruled)} holds it`
          }
        }
      }
    },
  },
  {
    name: 'a settlement that failed is repeated',
    *violations(history) {
      const lastTries = new Map<string, FailedSettlement>()
      for (const failed of history.failedSettlements.toSorted((a, b) => a.since - b.since)) {
        lastTries.set(`${failed.process}/${failed.event}`, failed)
      }
      for (const { event, process, since } of lastTries.values()) {
        // A killed process could not repeat it, and one that closes repeats it for a limited time only.
        if (history.killedAt(process) !== undefined) continue
        if (history.hasClosedInVain(process, since)) continue
        const tries = [...(history.settlements.get(event) ?? []), ...history.unansweredSettlements]
        const repeated = tries.some(
          (each) => each.event === event && each.process === process && each.since > since,
        )
        if (!repeated) yield `${event} by ${process} at ${since} failed for good`
      }
    },
  },
  {
    name: 'every refused settlement is counted',
    *violations(history) {
      for (const [process, told] of history.refusalsTold) {
        // The process counts an event once. After it gave up its shutdown, it counts no more.
        const count = [...history.settlements.values()].filter((settlements) =>
          settlements.some((each) => each.at <= told.at && isCertainRefusal(history, process, each)),
        ).length
        if (told.count < count) yield `${process} was refused ${count} settlements, and counts ${told.count}`
      }
    },
  },
  {
    name: 'a later delivery has a higher fencing token',
    *violations(history) {
      for (const [first, second] of repeats(history.deliveries.values())) {
        // A deleted lock no longer records which rows were held under it.
        const isHarmed = [first, second].some((each) => history.wasLockHarmed(each, second.at))
        const isAlike = second.token === first.token && (isHarmed || wasForgotten(history, first, second))
        if (second.token <= first.token && !isAlike && !isLateStart(history, first, second)) {
          yield `${describe(first)}, and later ${describe(second)}`
        }
      }
    },
  },
]

/**
 * Returns whether the store refused a settlement that the process had not written before: not in a failed
 * try, and not in one that was overtaken.
 */
function isCertainRefusal(history: JudgedHistory, process: string, settlement: JudgedSettlement): boolean {
  if (!settlement.refused || settlement.process !== process) return false
  const { event, since } = settlement
  // A process that closes may give up before it knows what became of a failed try.
  if (history.hasClosedInVain(process, since)) return false
  const tries = [...history.failedSettlements, ...history.unansweredSettlements].filter(
    (each) => each.event === event && each.process === process,
  )
  // The engine may not have waited for this very reply.
  if (tries.some((each) => each.since === since)) return false
  const all = history.settlements.get(event)!
  // The process had claimed the event again itself, and settles it by that claim.
  if (all.some((each) => each.process === process && each.token > settlement.token)) return false
  if (!tries.some((each) => each.since < since)) return true
  // A retry may have been written by a try that failed. Another process then ends the event.
  if (!isFinal({ ...settlement, refused: false })) return false
  // An equal token leaves the same row behind: no process can tell which of the two settlements the store wrote.
  return all.some((other) => other.process !== process && isFinal(other) && other.token !== settlement.token)
}

/**
 * Returns a delivery by another process that had begun, later than the settled one, when the store was asked.
 */
function laterHolder(
  history: JudgedHistory,
  { event, process, token, since, underLock, epoch }: JudgedSettlement,
) {
  const deliveries = history.deliveries.get(event) ?? []
  const own = deliveries.findLast((delivery) => delivery.process === process && delivery.at < since)
  // A process that takes a lock again reads the event again. If it knows its result, it settles it without a delivery.
  const lock = history.lastHolding(process, event, since)
  const lockedAt = underLock ? lock?.from : undefined
  const heldSince = own && Math.max(own.at, lockedAt ?? own.at)
  return deliveries.find((other) => {
    if (other.process === process || other.at >= since) return false
    if (other.token !== token) return other.token > token
    // A crash may have ended a hold as if it had never been. Then the epochs tell who came later.
    if (epoch !== undefined && other.epoch !== undefined) return other.epoch > epoch
    return other.at > (heldSince ?? since)
  })
}

function describeSettlement({ event, process, token, outcome, since }: JudgedSettlement): string {
  return `${event} as ${outcome} with token ${token} by ${process} at ${since}`
}

/**
 * Returns whether a crash of the server may have lost the record that a process held the event. The
 * partition's epoch then distinguishes the two deliveries.
 */
function wasForgotten(history: JudgedHistory, first: JudgedDelivery, second: JudgedDelivery): boolean {
  if (first.epoch === undefined || second.epoch === undefined || second.epoch <= first.epoch) return false
  const recordedFrom = Math.min(first.at - history.settings.leaseMs, gainedAt(history, first))
  return history.outages.some(
    ({ slot, from, to }) => slot === undefined && to > recordedFrom && from < second.at,
  )
}

/** An owner records what it holds from the moment at which it gets the partition: an event may be queued for long. */
function gainedAt(history: JudgedHistory, { process, epoch, at }: JudgedDelivery): number {
  const gains = [...history.ownerships.values()]
    .flat()
    .filter((each) => each.process === process && each.epoch === epoch && each.from <= at)
    .map((each) => each.since)
  return gains.length === 0 ? at : Math.max(...gains)
}
