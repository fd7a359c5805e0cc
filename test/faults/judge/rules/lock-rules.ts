import { EventStatus } from '../../../../packages/sendoff/src/store/event-status.ts'
import type { Outcome } from '../../../../packages/sendoff/src/store/index.ts'
import type { Holding, JudgedDelivery, JudgedHistory, JudgedSettlement } from '../judged-history.ts'
import { destinationIn } from '../../history/rows-of-events.ts'
import type { Rule } from './rule.ts'

/** Most events that a single writer has sent and the store has not acknowledged. */
const mostUnsettled = 100

export const lockRules: readonly Rule[] = [
  {
    name: 'after a lost lock, no more events are repeated than were in flight',
    *violations(history) {
      const { mode, workerCount } = history.settings
      if (mode !== 'singleWriter') return
      for (const { holding, inFlight, repeated } of lockLosses(history)) {
        // Events that are about to begin when the refusal comes still begin.
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
  /** Deliveries that had begun, and were not settled, when the refusal came. */
  readonly inFlight: readonly JudgedDelivery[]
  /** Unsettled deliveries of the holder that another process, or the holder itself later, began again. */
  readonly repeated: readonly JudgedDelivery[]
}

/**
 * Returns every lock that its holder did not give back. Leaves out processes that write, because they also
 * have leases.
 */
export function* lockLosses(history: JudgedHistory): Iterable<LockLoss> {
  const writers = new Set(Array.from(history.transactions.values(), ({ process }) => process))
  const deliveries = [...history.deliveries.values()].flat()
  for (const holding of history.holdings) {
    if (writers.has(holding.process)) continue
    const { process, destination, from, until } = holding
    const begun = deliveries
      .filter((delivery) => delivery.process === process && delivery.at >= from && delivery.at < until)
      .filter(({ event }) => destinationIn(event) === destination)
      .map((delivery) => ({ delivery, answer: answerTo(history, delivery) }))
    const unsettled = begun.filter(({ answer }) => answer === undefined || isLost(history, answer))
    const refusals = unsettled.flatMap(({ answer }) => (answer?.underLock ? [answer.at] : []))
    // A holder that gets a refusal may still give the lock back.
    if (holding.isGivenBack && refusals.length === 0) continue
    // A killed process also leaves behind what it began after a refusal that had another reason.
    const toldAt = Math.max(Math.min(...refusals), history.killedAt(process) ?? -Infinity)
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

/** Returns whether the store refused a settlement, and not because an earlier try of the process had written it. */
function isLost(
  history: JudgedHistory,
  { event, process, token, outcome, refused, since, at }: JudgedSettlement,
) {
  if (!refused) return false
  const wasTried = history.failedSettlements.some(
    (failed) => failed.event === event && failed.process === process && failed.since < since,
  )
  const found = history.finds.find(
    (find) => find.event === event && find.process === process && find.since >= at,
  )
  const isWritten =
    found !== undefined &&
    found.isFree &&
    found.token === token + 1 &&
    found.status === statusAfter[outcome as Outcome['kind']]
  return !wasTried || !isWritten
}

/** The status of a row that a settlement leaves in the table. */
const statusAfter: Readonly<Partial<Record<Outcome['kind'], number>>> = {
  done: EventStatus.DONE,
  dead: EventStatus.DEAD,
  retry: EventStatus.RETRY,
  defer: EventStatus.NEW,
}

/** Returns the store's reply to the outcome of a delivery, if its process lived to get it. */
function answerTo(
  history: JudgedHistory,
  { event, process, at }: JudgedDelivery,
): JudgedSettlement | undefined {
  const next = history.deliveries.get(event)!.find((other) => other.process === process && other.at > at)
  return history.settlements
    .get(event)
    ?.find((each) => each.process === process && each.since >= at && each.since < (next?.at ?? Infinity))
}
