import { lanesOf } from '../judged-lanes.ts'
import type { JudgedHistory } from '../judged-history.ts'
import type { Rule } from './rule.ts'

export const writeOrderRules: readonly Rule[] = [
  {
    name: 'an event has the ordering key that it was written with',
    *violations(history) {
      for (const { eventId, orderingKey } of history.rows.values()) {
        const written = history.written.get(eventId)
        if (written !== undefined && (written.key ?? null) !== orderingKey) {
          yield `${eventId} was written with ${written.key ?? 'none'}, and has ${orderingKey ?? 'none'}`
        }
      }
    },
  },
  {
    name: 'write order is commit order',
    *violations(history) {
      for (const { name, events } of lanesOf(history)) {
        const turns = turnsOf(
          history,
          events.map(({ row }) => row.eventId),
        )
        const over = new Set<string>()
        for (const [index, turn] of turns.entries()) {
          if (over.has(turn.tx)) yield `${name}: others wrote between two events of ${turn.tx}`
          over.add(turn.tx)
          const before = turns[index - 1]
          if (before !== undefined && before.committedAfter > turn.firstWroteAt) {
            yield `${name}: ${turn.tx} had written at ${turn.firstWroteAt}, and ${before.tx}, whose events stand before, was not asked to commit before ${before.committedAfter}`
          }
        }
      }
    },
  },
]

/** The events that a transaction has written one after another. */
interface Turn {
  readonly tx: string
  /** When its first write returned: it then has the turn. */
  readonly firstWroteAt: number
  /** The next transaction has to wait for its commit, which was later than this. */
  readonly committedAfter: number
}

function turnsOf(history: JudgedHistory, ids: readonly string[]): readonly Turn[] {
  const turns: Turn[] = []
  for (const id of ids) {
    const written = history.written.get(id)
    if (written?.wroteAt === undefined || turns.at(-1)?.tx === written.tx) continue
    turns.push({ tx: written.tx, firstWroteAt: written.wroteAt, committedAfter: written.at })
  }
  return turns
}
