import { type Explanation, explained } from './explained.ts'
import { type Evidence, JudgedHistory } from './judged-history.ts'
import { clockRules } from './rules/clock-rules.ts'
import { duplicateRules, repeats } from './rules/duplicate-rules.ts'
import { fenceRules } from './rules/fence-rules.ts'
import { lockRules, type LockLossSummary, summarizeLockLosses } from './rules/lock-rules.ts'
import { outcomeRules } from './rules/outcome-rules.ts'
import { lastDeliveries, recoveries, recoveryRules, type Recovery } from './rules/recovery-rules.ts'
import { orderRules } from './rules/order-rules.ts'
import { ownershipRules } from './rules/ownership-rules.ts'
import type { Rule } from './rules/rule.ts'
import { sharingRules } from './rules/sharing-rules.ts'
import { takeoverRules, takeovers } from './rules/takeover-rules.ts'
import { transactionRules } from './rules/transaction-rules.ts'
import { writeOrderRules } from './rules/write-order-rules.ts'

export const rules: readonly Rule[] = [
  ...transactionRules,
  ...outcomeRules,
  ...duplicateRules,
  ...fenceRules,
  ...takeoverRules,
  ...recoveryRules,
  ...clockRules,
  ...sharingRules,
  ...writeOrderRules,
  ...orderRules,
  ...ownershipRules,
  ...lockRules,
]

export interface Violation {
  readonly rule: string
  readonly message: string
}

/**
 * Judges a run by the records of its processes and by its tables. Returns nothing if every promise was kept.
 */
export function checkHistory(evidence: Evidence): readonly Violation[] {
  const history = new JudgedHistory(evidence)
  return rules.flatMap((rule) =>
    Array.from(rule.violations(history), (message) => ({ rule: rule.name, message })),
  )
}

/** What happened in a run, so that a reader sees whether it was a real test. */
export interface HistorySummary {
  readonly events: number
  readonly deliveries: number
  readonly rolledBack: number
  /** Transactions whose end no process could record, by what their business data shows. */
  readonly unknownEnds: { readonly kept: number; readonly undone: number }
  /** How often each harm was done to the database or on the way to it. */
  readonly outages: Readonly<Record<string, number>>
  readonly refusedSettlements: number
  readonly duplicates: Readonly<Partial<Record<Explanation | 'nothing', number>>>
  /** How often a partition got another owner. */
  readonly ownerChanges: number
  /**
   * How often a single writer lost its lock, how many events were in flight then, and how many of them were
   * sent again.
   */
  readonly lockLosses: LockLossSummary
  readonly slowestTakeoverMs: number
  /** The longest wait of an event that was due when an outage of all processes ended. */
  readonly slowestRecoveryMs: number
  /** How long after the last fault the last event that was due then was delivered. */
  readonly recoveredAfterMs: number
}

export function summarizeHistory(evidence: Evidence): HistorySummary {
  const history = new JudgedHistory(evidence)
  const duplicates: Partial<Record<Explanation | 'nothing', number>> = {}
  for (const [first, second] of repeats(history.deliveries.values())) {
    const why = explained(history, first, second) ?? 'nothing'
    duplicates[why] = (duplicates[why] ?? 0) + 1
  }
  const transactions = [...history.transactions.values()]
  const unknown = transactions.filter(({ end }) => end === 'unknown')
  const businessRows = new Set(evidence.businessRows)
  const kept = unknown.filter(({ tx }) => businessRows.has(tx)).length
  const settlements = [...history.settlements.values()].flat()
  return {
    events: history.rows.size,
    deliveries: [...history.deliveries.values()].flat().length,
    rolledBack: transactions.filter(({ end }) => end === 'rollback').length,
    unknownEnds: { kept, undone: unknown.length - kept },
    outages: countBy(history.outages, ({ what }) => what),
    refusedSettlements: settlements.filter(({ refused }) => refused).length,
    duplicates,
    ownerChanges: [...history.ownerships.values()].flat().length,
    lockLosses: summarizeLockLosses(history),
    slowestTakeoverMs: longest(takeovers(history), ({ next, killedAt }) => next.at - killedAt),
    slowestRecoveryMs: longest(recoveries(history), tookMs),
    recoveredAfterMs: longest(lastDeliveries(history), tookMs),
  }
}

function tookMs({ since, until }: Recovery): number {
  return until - since
}

function longest<Item>(items: Iterable<Item>, ms: (item: Item) => number): number {
  let result = 0
  for (const item of items) result = Math.max(result, ms(item))
  return Math.round(result)
}

function countBy<Item>(items: readonly Item[], key: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1
  return counts
}
