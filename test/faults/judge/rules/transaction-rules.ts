import type { JudgedHistory, JudgedTransaction } from '../judged-history.ts'
import type { Rule } from './rule.ts'

export const transactionRules: readonly Rule[] = [
  {
    name: 'an event exists if and only if its transaction committed',
    *violations(history) {
      const businessRows = new Set(history.evidence.businessRows)
      for (const transaction of history.transactions.values()) {
        yield* misfits(history, transaction, businessRows.has(transaction.tx))
      }
    },
  },
  {
    name: 'every row in the table was written by a process',
    *violations(history) {
      for (const id of history.rows.keys()) {
        if (!history.written.has(id))
          yield `${id} is in the table, and no process recorded that it would be written`
      }
      for (const tx of history.evidence.businessRows) {
        if (!history.transactions.has(tx)) yield `${tx} has business data without having come to its commit`
      }
    },
  },
  {
    name: 'a write with a used idempotency key returns the first event',
    *violations(history) {
      for (const { tx, repeated } of history.transactions.values()) {
        for (const { expected, answered } of repeated) {
          if (answered !== expected) yield `${tx}: the answer was ${answered} instead of ${expected}`
        }
      }
    },
  },
]

function* misfits(
  history: JudgedHistory,
  { tx, end, events, undone }: JudgedTransaction,
  hasBusinessRow: boolean,
): Iterable<string> {
  // If the process died before it recorded the end, the business data decides for everything written with it.
  const committed = end === 'unknown' ? hasBusinessRow : end === 'commit'
  const told = end === 'unknown' ? `(business data ${committed ? 'kept' : 'undone'})` : `(${end})`
  if (committed !== hasBusinessRow) yield `${tx} ${told}: its business data says otherwise`

  for (const { id } of events) {
    if (history.rows.has(id) !== committed)
      yield `${tx} ${told}: ${id} ${committed ? 'is missing' : 'exists'}`
  }
  for (const id of undone) {
    if (history.rows.has(id)) yield `${tx}: ${id} exists, and its part of the transaction was rolled back`
  }
}
