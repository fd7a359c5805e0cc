import type { StoredRow } from '../../../../packages/sendoff/src/store/index.ts'
import type { Rule } from './rule.ts'

// Much more than a delay of these runs, and much less than the error of the wrong clocks.
const toleranceMs = 600_000

export const clockRules: readonly Rule[] = [
  {
    name: "rows are stamped by the database's clock",
    *violations(history) {
      const { from, to } = history.evidence.wallClock
      for (const row of history.rows.values()) {
        for (const name of stamps) {
          const stamp = row[name]
          if (stamp === null || (stamp >= from - toleranceMs && stamp <= to + toleranceMs)) continue
          yield `${row.eventId} has ${name} ${new Date(stamp).toISOString()}, and the run was from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}`
        }
      }
    },
  },
]

/** Times that a process itself sets, such as when an event occurred, are not among them. */
const stamps = ['availableAt', 'createdAt', 'doneAt', 'lockedUntil'] satisfies (keyof StoredRow)[]
