import { type Explanation, explained } from './explained.ts'
import { type Evidence, JudgedHistory } from './judged-history.ts'
import { duplicateRules, repeats } from './rules/duplicate-rules.ts'
import { fenceRules } from './rules/fence-rules.ts'
import { outcomeRules } from './rules/outcome-rules.ts'
import type { Rule } from './rules/rule.ts'
import { takeoverRules, takeovers } from './rules/takeover-rules.ts'
import { transactionRules } from './rules/transaction-rules.ts'

export const rules: readonly Rule[] = [
  ...transactionRules,
  ...outcomeRules,
  ...duplicateRules,
  ...fenceRules,
  ...takeoverRules,
]

export interface Violation {
  readonly rule: string
  readonly message: string
}

/** Judges a run by what its processes said and what its tables hold. Empty when every promise was kept. */
export function checkHistory(evidence: Evidence): readonly Violation[] {
  const history = new JudgedHistory(evidence)
  return rules.flatMap((rule) =>
    Array.from(rule.violations(history), (message) => ({ rule: rule.name, message })),
  )
}

/** What a run was about, for a person who wants to know whether it was a test at all. */
export interface HistorySummary {
  readonly events: number
  readonly deliveries: number
  readonly rolledBack: number
  readonly unknownEnds: number
  readonly refusedSettlements: number
  readonly duplicates: Readonly<Partial<Record<Explanation | 'nothing', number>>>
  readonly slowestTakeoverMs: number
}

export function summarizeHistory(evidence: Evidence): HistorySummary {
  const history = new JudgedHistory(evidence)
  const duplicates: Partial<Record<Explanation | 'nothing', number>> = {}
  for (const [first, second] of repeats(history.deliveries.values())) {
    const why = explained(history, first, second) ?? 'nothing'
    duplicates[why] = (duplicates[why] ?? 0) + 1
  }
  const transactions = [...history.transactions.values()]
  const settlements = [...history.settlements.values()].flat()
  return {
    events: history.rows.size,
    deliveries: [...history.deliveries.values()].flat().length,
    rolledBack: transactions.filter(({ end }) => end === 'rollback').length,
    unknownEnds: transactions.filter(({ end }) => end === 'unknown').length,
    refusedSettlements: settlements.filter(({ refused }) => refused).length,
    duplicates,
    slowestTakeoverMs: Math.round(
      Math.max(0, ...Array.from(takeovers(history), ({ next, killedAt }) => next.at - killedAt)),
    ),
  }
}
