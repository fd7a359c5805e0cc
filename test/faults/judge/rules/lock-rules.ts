import type { Holding, JudgedDelivery, JudgedHistory, JudgedSettlement } from '../judged-history.ts'
import type { Rule } from './rule.ts'

/** What a single writer has sent and the store has not answered to is never more. */
const mostUnsettled = 100

export const lockRules: readonly Rule[] = [
  {
    name: 'after a lost lock, no more events are repeated than were in flight',
    *violations(history) {
      const { mode, workerCount } = history.settings
      if (mode !== 'singleWriter') return
      for (const { holding, inFlight, repeated } of lockLosses(history)) {
        // What was being begun when the news came is begun.
        const most = Math.min(inFlight.length, mostUnsettled) + workerCount
        if (repeated.length > most) {
          yield `${repeated.length} of what ${holding.process} sent from ${holding.from} on came again, and ${inFlight.length} were in flight`
        }
      }
    },
  },
]

export interface LockLoss {
  readonly holding: Holding
  /** What had begun, and was not settled, when its holder was told. */
  readonly inFlight: readonly JudgedDelivery[]
  /** What its holder had begun in vain and somebody else, or itself later, began as well. */
  readonly repeated: readonly JudgedDelivery[]
}

/** Every lock that somebody did not give back, as far as only a lock was at stake: whoever writes has leases as well. */
export function* lockLosses(history: JudgedHistory): Iterable<LockLoss> {
  const writers = new Set(Array.from(history.transactions.values(), ({ process }) => process))
  const deliveries = [...history.deliveries.values()].flat()
  for (const holding of history.holdings) {
    if (writers.has(holding.process)) continue
    const { process, from, until } = holding
    const begun = deliveries
      .filter((delivery) => delivery.process === process && delivery.at >= from && delivery.at < until)
      .map((delivery) => ({ delivery, answer: answerTo(history, delivery) }))
    const unsettled = begun.filter(({ answer }) => answer?.refused ?? true)
    const refusals = unsettled.flatMap(({ answer }) => (answer?.underLock ? [answer.at] : []))
    // Whoever is told so may give it back all the same.
    if (holding.isGivenBack && refusals.length === 0) continue
    const toldAt = Math.min(...refusals)
    const left = unsettled.map(({ delivery }) => delivery)
    yield {
      holding,
      inFlight: left.filter(({ at }) => at <= toldAt),
      repeated: left.filter(({ event }) => history.deliveries.get(event)!.length > 1),
    }
  }
}

export interface LockLossSummary {
  readonly count: number
  readonly inFlight: number
  readonly repeated: number
  /** By one loss. */
  readonly mostInFlight: number
  readonly mostRepeated: number
}

export function summarizeLockLosses(history: JudgedHistory): LockLossSummary {
  const losses = [...lockLosses(history)]
  const inFlight = losses.map((loss) => loss.inFlight.length)
  const repeated = losses.map((loss) => loss.repeated.length)
  return {
    count: losses.length,
    inFlight: inFlight.reduce((sum, count) => sum + count, 0),
    repeated: repeated.reduce((sum, count) => sum + count, 0),
    mostInFlight: Math.max(0, ...inFlight),
    mostRepeated: Math.max(0, ...repeated),
  }
}

/** What the store said to the outcome of a delivery, if its process lived to hear it. */
function answerTo(
  history: JudgedHistory,
  { event, process, at }: JudgedDelivery,
): JudgedSettlement | undefined {
  const next = history.deliveries.get(event)!.find((other) => other.process === process && other.at > at)
  return history.settlements
    .get(event)
    ?.find((each) => each.process === process && each.since >= at && each.since < (next?.at ?? Infinity))
}
