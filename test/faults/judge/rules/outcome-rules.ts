import { EventStatus, isPending } from '../../../../packages/sendoff/src/store/event-status.ts'
import type { StoredRow } from '../../../../packages/sendoff/src/store/index.ts'
import type { Behaviour } from '../../history/history-record.ts'
import type { JudgedHistory } from '../judged-history.ts'
import { plannedError, plannedReason } from '../../processes/planned-listeners.ts'
import type { Rule } from './rule.ts'

// Clocks are read in different processes, and whole milliseconds are stored.
const clockToleranceMs = 20

export const outcomeRules: readonly Rule[] = [
  {
    name: 'nothing is delivered that was not committed',
    *violations(history) {
      for (const [id, [first]] of history.deliveries) {
        if (!history.rows.has(id)) yield `${id} was delivered by ${first!.process}, and is not in the table`
      }
    },
  },
  {
    name: 'every committed event ends DONE, or DEAD for a stated reason',
    *violations(history) {
      for (const row of history.rows.values()) {
        const written = history.written.get(row.eventId)
        if (written === undefined) continue
        const wrong = isPending(row.status)
          ? `is still pending, ${describeHolder(row)}`
          : wrongEnd(history, row, written.behaviour)
        if (wrong !== undefined) yield `${row.eventId} (${written.behaviour}) ${wrong}`
      }
    },
  },
  {
    name: 'a delayed event does not start early',
    *violations(history) {
      for (const { id, notBefore } of history.written.values()) {
        const first = history.deliveries.get(id)?.[0]
        if (notBefore === undefined || first === undefined) continue
        const earlyMs = notBefore - first.at
        if (earlyMs > clockToleranceMs) yield `${id} started ${Math.round(earlyMs)} ms early`
      }
    },
  },
  {
    name: 'attempts are bounded',
    *violations(history) {
      const { maxAttempts, maxLosses: maxLosses } = history.settings
      for (const row of history.rows.values()) {
        if (row.attempts > maxAttempts) yield `${row.eventId} has ${row.attempts} attempts of ${maxAttempts}`
      }
      for (const [id, deliveries] of history.deliveries) {
        const tooLate = deliveries.find(({ attempt }) => attempt > maxAttempts)
        if (tooLate !== undefined) yield `${id} got attempt ${tooLate.attempt} of ${maxAttempts}`
        const killed = deliveries.filter(({ act }) => act === 'killProcess').length
        // A crash of the database may lose the record of what the killed process held.
        const unrecorded = history.outages.filter(({ slot }) => slot === undefined).length
        if (killed > maxLosses + unrecorded)
          yield `${id} ended ${killed} processes in a row instead of ${maxLosses}`
      }
    },
  },
]

/**
 * Whether an event of such behaviour is DEAD for the right reason. Events of other behaviours have to be
 * DONE.
 */
const deadReasons: Readonly<Partial<Record<Behaviour, (error: string) => boolean>>> = {
  alwaysFail: (error) => error.includes(plannedError),
  giveUp: (error) => error.includes(plannedReason),
  unheard: (error) => error.startsWith('UnroutableEventError'),
  poison: (error) => /\d+ processes in a row ended while they held this event/.test(error),
}

function wrongEnd(history: JudgedHistory, row: StoredRow, behaviour: Behaviour): string | undefined {
  const isRightReason = deadReasons[behaviour]
  if (row.status === EventStatus.DEAD) {
    return isRightReason?.(row.lastError ?? '') ? undefined : `is DEAD with ${row.lastError}`
  }
  if (isRightReason !== undefined) return 'is DONE, and should be DEAD'

  const succeeded = history.deliveries
    .get(row.eventId)
    ?.some(({ act, endedAt }) => (act === 'succeed' || act === 'hang') && endedAt !== undefined)
  return succeeded ? undefined : 'is DONE, and no delivery of it succeeded'
}

function describeHolder({ lockedBy, attempts, losses }: StoredRow): string {
  return `${lockedBy === null ? 'held by no process' : `held by ${lockedBy}`}, attempts ${attempts}, losses ${losses}`
}
