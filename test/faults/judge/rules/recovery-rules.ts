import { coveredMs, type JudgedHistory } from '../judged-history.ts'
import { renewalHarmNames } from '../../processes/silent-renewals.ts'
import { takeovers } from './takeover-rules.ts'
import type { Rule } from './rule.ts'

/** In leases: how long silent connections may hold up a process, besides what the machine needs. */
const silenceLeases = 2

export const recoveryRules: readonly Rule[] = [
  {
    name: 'connections that fall silent hold up a process for about a lease',
    *violations(history) {
      for (const { process, from, until, allowedMs } of silences(history)) {
        if (until - from > allowedMs) {
          yield `${process} lost its connections at ${from}, and settled again ${tookTooLong(from, until, allowedMs)}`
        }
      }
    },
  },
  {
    name: 'results are settled when the database replies again',
    *violations(history) {
      const { leaseMs } = history.settings
      for (const { target, at: killedAt } of history.kills) {
        const back = history.backs.get(target)?.findLast((at) => at < killedAt)
        // A settlement gets half a lease. One that began before the database was back takes as long to fail.
        if (back === undefined || killedAt - back < leaseMs || history.wasAway(target, back + 1, killedAt))
          continue
        for (const { held } of takeovers(history)) {
          if (held.process !== target || (held.endedAt ?? Infinity) > back) continue
          const { event, at } = held
          // The store has refused it.
          if (history.settlements.get(event)?.some((each) => each.process === target && each.since > at))
            continue
          yield `${held.event} by ${target} had ended at ${held.endedAt}, the database was back at ${back}, and it was not settled by ${killedAt}`
        }
      }
    },
  },
  {
    name: 'when one process is asked to end, another continues at once',
    *violations(history) {
      const { handOverMs } = history.settings
      for (const { process, since, until } of handOvers(history)) {
        const allowedMs = handOverMs + history.otherFaultsMs('', since, until)
        if (until - since > allowedMs) {
          yield `${process} was asked to end at ${since}, and another went on ${tookTooLong(since, until, allowedMs)}`
        }
      }
    },
  },
  {
    name: 'events that were due in an outage start within seconds of its end',
    *violations(history) {
      const { recoveryMs } = history.settings
      const common = [...history.outages.filter(({ slot }) => slot === undefined), ...history.selfMadeEnds]
      for (const { event, what, since, until } of recoveries(history)) {
        if (until - since <= recoveryMs) continue
        const allowedMs = recoveryMs + coveredMs([...common, ...history.catchingUp(event)], since, until)
        if (until - since > allowedMs) {
          yield `${event} was due when ${what} was over at ${since}, and started ${tookTooLong(since, until, allowedMs)}`
        }
      }
    },
  },
  {
    name: 'events that were due at the last fault are delivered within seconds of it',
    *violations(history) {
      const { recoveryMs } = history.settings
      for (const { event, what, since, until } of lastDeliveries(history)) {
        if (until - since <= recoveryMs) continue
        const allowedMs = recoveryMs + coveredMs(history.catchingUp(event), since, until)
        if (until - since > allowedMs) {
          yield `${event} was due at ${what}, and was delivered ${tookTooLong(since, until, allowedMs)}`
        }
      }
    },
  },
]

export interface Silence {
  readonly process: string
  readonly from: number
  readonly until: number
  readonly allowedMs: number
}

/**
 * Returns the periods in which a process without live connections waited for the store to accept a
 * settlement, if nothing else was wrong.
 */
export function* silences(history: JudgedHistory): Iterable<Silence> {
  const { leaseMs, mode, abandonedMs = 0 } = history.settings
  // A settlement that fell silent may keep the lock of its owner, who cannot renew it until the server ends it.
  const keptMs = mode === 'multiNode' ? 0 : abandonedMs
  const deliveries = [...history.deliveries.values()].flat()
  const settlements = [...history.settlements.values()].flat()
  for (const { what, slot, to: at } of history.outages) {
    if (what !== 'blackHole') continue
    const next = deliveries
      .filter(({ process, endedAt = -1 }) => process.startsWith(`${slot}.`) && endedAt > at)
      .reduce<{ process: string; endedAt: number } | undefined>(
        (first, { process, endedAt }) =>
          first !== undefined && first.endedAt <= endedAt! ? first : { process, endedAt: endedAt! },
        undefined,
      )
    if (next === undefined) continue
    const { process, endedAt: from } = next
    const until = Math.min(
      ...settlements.flatMap((each) => (each.process === process && each.since >= at ? [each.at] : [])),
    )
    const allowedMs = silenceLeases * leaseMs + keptMs + history.stillMs(process, from, until)
    const isExcused =
      history.outages.some(
        (other) =>
          !renewalHarmNames.includes(other.what) &&
          other.from > at - leaseMs &&
          other.from < from + allowedMs &&
          other.to !== at &&
          concerns(other.slot, slot),
      ) || history.hadEnded(process, from + allowedMs)
    if (!isExcused) yield { process, from, until, allowedMs }
  }
}

function concerns(harmed: string | undefined, slot: string | undefined): boolean {
  return harmed === undefined || harmed === slot
}

interface HandOver {
  readonly process: string
  readonly since: number
  /** When another process first began an event that was due, and that no process had begun before. */
  readonly until: number
}

function* handOvers(history: JudgedHistory): Iterable<HandOver> {
  for (const { target: process, at: since } of history.closings) {
    const starts: number[] = []
    for (const { id, dueAt } of dueTimes(history)) {
      const first = history.deliveries.get(id)?.[0]
      if (first === undefined || dueAt > since || first.at <= since || first.process === process) continue
      starts.push(first.at)
    }
    if (starts.length > 0) yield { process, since, until: Math.min(...starts) }
  }
}

/** The wait of an event after the end of the harm that may have delayed it. */
export interface Recovery {
  readonly event: string
  readonly what: string
  readonly since: number
  readonly until: number
}

/** Returns all events that were due when an outage of all processes ended, and had not started before. */
export function* recoveries(history: JudgedHistory): Iterable<Recovery> {
  const common = history.outages.filter(({ slot }) => slot === undefined)
  for (const { id, dueAt } of dueTimes(history)) {
    const until = history.deliveries.get(id)?.[0]?.at
    if (until === undefined) continue
    // The outage that it had to wait for longest.
    const outage = common.find(({ to }) => dueAt <= to && to < until)
    if (outage !== undefined) yield { event: id, what: outage.what, since: outage.to, until }
  }
}

/**
 * Returns all events that were due when the last harm was over and were delivered, perhaps again, after that.
 */
export function* lastDeliveries(history: JudgedHistory): Iterable<Recovery> {
  const since = history.lastFaultAt
  for (const { id, dueAt } of dueTimes(history)) {
    const until = history.deliveries.get(id)?.at(-1)?.at
    if (until !== undefined && dueAt <= since && since < until) {
      yield { event: id, what: 'the last fault', since, until }
    }
  }
}

/** Returns when events fell due for the first time: not before they were written. */
function* dueTimes(history: JudgedHistory): Iterable<{ readonly id: string; readonly dueAt: number }> {
  for (const { id, at, notBefore = at } of history.written.values()) yield { id, dueAt: notBefore }
}

function tookTooLong(since: number, until: number, allowedMs: number): string {
  return `after ${Math.round(until - since)} ms instead of ${Math.round(allowedMs)}`
}
