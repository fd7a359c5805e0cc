import type { JudgedHistory, Ownership } from '../judged-history.ts'
import type { Rule } from './rule.ts'

export const ownershipRules: readonly Rule[] = [
  {
    name: 'an epoch of a partition is given to one owner',
    *violations(history) {
      for (const ownerships of history.ownerships.values()) {
        const [first] = ownerships
        if (first !== undefined && ownerships.length > 1 && hasTwins(ownerships)) {
          yield `partition ${first.partition}: ${ownerships.map(describeOwnership).join('; ')}`
        }
      }
    },
  },
  {
    name: 'epochs rise by one with each change of owner',
    *violations(history) {
      for (const [partition, ownerships] of history.ownerships) {
        for (const [index, next] of ownerships.entries()) {
          const before = ownerships[index - 1]
          const expected = (before?.epoch ?? 0) + 1
          // A reply may come long after the request. But no process asks for an epoch after it saw a higher
          // one.
          const isInTime = before === undefined || before.since < next.from
          if (next.epoch === expected && isInTime) continue
          const missing = next.epoch - expected
          if (isInTime && missing > 0 && missing <= unheardGains(history, partition, next.from)) continue
          yield `partition ${partition}: ${describeOwnership(next)}, and the one before had ${expected - 1}`
        }
      }
    },
  },
  {
    name: 'a partition has one owner at a time',
    *violations(history) {
      for (const ownerships of history.ownerships.values()) {
        for (const [index, next] of ownerships.entries()) {
          const before = ownerships[index - 1]
          if (before === undefined || before.until <= next.from || explainedLoss(history, before, next))
            continue
          yield `partition ${next.partition}: ${describeOwnership(before)} had it when ${describeOwnership(next)} got it`
        }
      }
    },
  },
]

function hasTwins(ownerships: readonly Ownership[]): boolean {
  return new Set(ownerships.map(({ epoch }) => epoch)).size < ownerships.length
}

/**
 * Returns how many processes may have got a partition before a moment without a record of it, because they
 * died or the reply was lost.
 */
function unheardGains(history: JudgedHistory, partition: number, before: number): number {
  const failed = history.failedGains.filter(
    ({ since, partitions }) => since < before && partitions.includes(partition),
  )
  // The end of a process, asked for or not, may come before a late reply.
  const ended = [...history.kills, ...history.closings].filter(({ at }) => at < before)
  return failed.length + ended.length
}

/** Returns whether the owner before could not give it up, or had lost it before without knowing. */
function explainedLoss(history: JudgedHistory, before: Ownership, next: Ownership): boolean {
  // A process that lost its lock and got another is its own successor.
  if (before.process === next.process) return before.token !== next.token
  if ((history.killedAt(before.process) ?? Infinity) <= next.from) return true
  if (history.hadEnded(before.process, next.from)) return true
  // A closed outbox keeps the partitions of listeners that outlasted the closing until its lock runs out.
  if ((history.refusalsTold.get(before.process)?.at ?? Infinity) <= next.from) return true
  // It may learn later that it has lost its lock. What counts is that it leaves the partition to the next owner.
  if (before.endsWithLock && !hasGoneOn(history, before, next.from)) return true
  // A healthy owner would have renewed its lock within the last lease.
  const { leaseMs } = history.settings
  return history.wasAway(before.process, next.since - leaseMs, next.from)
}

/** Returns whether the owner began or settled an event of the partition, by its epoch, after a moment. */
function hasGoneOn(history: JudgedHistory, { process, partition, epoch }: Ownership, after: number): boolean {
  const isOwn = (each: { readonly process: string; readonly event: string; readonly epoch?: number }) =>
    each.process === process &&
    each.epoch === epoch &&
    history.rows.get(each.event)?.partitionNo === partition
  const begun = [...history.deliveries.values()].flat()
  const settled = [...history.settlements.values()].flat().filter(({ refused }) => !refused)
  return (
    begun.some((delivery) => delivery.at > after && isOwn(delivery)) ||
    settled.some((settlement) => settlement.since > after && isOwn(settlement))
  )
}

function describeOwnership({ process, epoch, from, until }: Ownership): string {
  return `${process} with epoch ${epoch} from ${from} to ${until}`
}
