import type { JudgedDelivery, JudgedHistory } from '../judged-history.ts'
import {
  explainedUnsettled,
  isStaleStart,
  type JudgedLane,
  type LaneEvent,
  lanesOf,
} from '../judged-lanes.ts'
import { describe } from './duplicate-rules.ts'
import type { Rule } from './rule.ts'

export const orderRules: readonly Rule[] = [
  {
    name: 'first deliveries are in write order',
    *violations(history) {
      for (const { name, events } of lanesOf(history)) {
        let last: JudgedDelivery | undefined
        for (const { firstStart, isDelayed } of events) {
          // A delayed event takes its place when it is due.
          if (firstStart === undefined || isDelayed) continue
          if (last !== undefined && firstStart.at < last.at) {
            yield `${name}: ${describe(firstStart)}, before ${describe(last)}, which was written after it`
          }
          last = firstStart
        }
      }
    },
  },
  {
    name: 'no event starts before the one in front of it is settled',
    *violations(history) {
      for (const lane of lanesOf(history)) yield* earlyStarts(history, lane)
    },
  },
  {
    name: 'listeners of one lane run one after another',
    *violations(history) {
      for (const { name, starts } of lanesOf(history)) {
        let running: JudgedDelivery[] = []
        for (const { delivery } of starts) {
          running = running.filter(({ endedAt = Infinity }) => endedAt > delivery.at)
          for (const other of running) {
            // Other rules cover deliveries of the same event.
            if (other.event === delivery.event || explainedBeside(history, other, delivery)) continue
            yield `${name}: ${describe(other)} was still running when ${describe(delivery)} began`
          }
          running.push(delivery)
        }
      }
    },
  },
  {
    name: 'the epoch of a key never falls',
    *violations(history) {
      for (const { name, starts } of lanesOf(history)) {
        let highest: JudgedDelivery | undefined
        for (const { delivery } of starts) {
          if (delivery.epoch === undefined) continue
          if (highest?.epoch === undefined || delivery.epoch >= highest.epoch) highest = delivery
          else if (!isStaleStart(history, highest.at, delivery)) {
            yield `${name}: ${describe(delivery)} with epoch ${delivery.epoch}, after ${describe(highest)} with ${highest.epoch}`
          }
        }
      }
    },
  },
]

/** Follows the time: at any moment few events are delivered and not settled. */
function* earlyStarts(history: JudgedHistory, { name, starts }: JudgedLane): Iterable<string> {
  let unsettled = new Set<LaneEvent>()
  for (const start of starts) {
    const { event, delivery } = start
    unsettled = new Set([...unsettled].filter(({ settledAt }) => settledAt > delivery.at))
    for (const other of unsettled) {
      if (other.row.seq >= event.row.seq || explainedUnsettled(history, other, start)) continue
      yield `${name}: ${describe(delivery)}, and ${other.row.eventId} in front of it was not settled before ${other.settledAt}`
    }
    if (event.settledAt > delivery.at) unsettled.add(event)
  }
}

function explainedBeside(history: JudgedHistory, first: JudgedDelivery, second: JudgedDelivery): boolean {
  const { hangTimeoutMs, hangGraceMs, leaseMs } = history.settings
  if (first.act === 'hang' && second.at - first.at >= hangTimeoutMs + hangGraceMs) return true
  if ((history.killedAt(first.process) ?? Infinity) < second.at) return true
  if (history.hadEnded(first.process, second.at)) return true
  if (history.wasAway(first.process, first.at, second.at)) return true
  // A lock that could not be renewed shortly before may have run out in the middle of the delivery.
  if (history.wasCutOff(first.process, first.at - leaseMs, second.at)) return true
  return isStaleStart(history, first.at, second)
}
