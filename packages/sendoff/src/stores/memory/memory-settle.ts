import { EventStatus } from '../../store/event-status.ts'
import type { FailedAttempt, Outcome } from '../../store/index.ts'
import { storedErrorText } from '../../store/error-text.ts'
import type { MemoryRow } from './memory-row.ts'

/** What a settlement makes of a row that is not deleted. */
export function settledFields(row: MemoryRow, outcome: Outcome, now: number): Partial<MemoryRow> {
  const counted = 'failure' in outcome && outcome.failure?.counted ? 1 : 0

  return {
    deliveries: row.deliveries + 1,
    attempts: row.attempts + counted,
    losses: 0,
    lockedBy: null,
    lockedUntil: null,
    blockedAt: null,
    ...outcomeFields(row, outcome, now),
  }
}

/** What a replay makes of a dead row. */
export function replayedFields(row: MemoryRow, now: number): Partial<MemoryRow> {
  return {
    status: EventStatus.NEW,
    availableAt: now,
    attempts: 0,
    losses: 0,
    // The fence rises here too: whoever held the row before it died must not settle it now.
    deliveries: row.deliveries + 1,
    doneAt: null,
    lastError: null,
    lockedBy: null,
    lockedUntil: null,
    blockedAt: null,
  }
}

/** The entry that a settlement adds to the history of failed attempts, if it failed. */
export function failedAttempt(
  row: MemoryRow,
  outcome: Outcome,
  attempts: number,
  now: number,
): FailedAttempt | undefined {
  const failure = 'failure' in outcome ? outcome.failure : undefined
  return failure && { attempts, failedAt: now, error: storedErrorText(failure.error), lockedBy: row.lockedBy }
}

function outcomeFields(row: MemoryRow, outcome: Outcome, now: number): Partial<MemoryRow> {
  switch (outcome.kind) {
    case 'done':
    case 'delete':
      return { status: EventStatus.DONE, doneAt: now, lastError: null }
    case 'retry':
      return {
        status: EventStatus.RETRY,
        availableAt: Math.ceil(now + outcome.delayMs),
        lastError: storedErrorText(outcome.failure.error),
      }
    case 'defer':
      return {
        status: EventStatus.NEW,
        availableAt: Math.ceil(now + outcome.delayMs),
        lastError: outcome.reason === undefined ? row.lastError : storedErrorText(outcome.reason),
      }
    case 'block':
      return { blockedAt: now, lastError: storedErrorText(outcome.failure.error) }
    case 'dead':
      return { status: EventStatus.DEAD, doneAt: now, lastError: storedErrorText(outcome.failure.error) }
  }
}
