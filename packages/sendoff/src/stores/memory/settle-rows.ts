import { storedErrorText } from '../../store/error-text.ts'
import { EventStatus } from '../../store/event-status.ts'
import type { FailedAttempt, Outcome, Settlement, SettleRequest } from '../../store/index.ts'
import { partitionOfRow } from '../../store/partition-of.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryLocks } from './memory-locks.ts'
import type { MemoryPartitions } from './memory-partitions.ts'
import { type MemoryRow, rowIdText } from './memory-row.ts'

/** Failed attempts by row id. */
export type MemoryHistory = Map<string, FailedAttempt[]>

/** The parts that a settlement changes, and those that it is checked against. */
export interface SettleParts {
  readonly events: MemoryEvents
  readonly history: MemoryHistory
  readonly locks: MemoryLocks
  readonly partitions: MemoryPartitions
}

/** Records outcomes. Returns the settlements that were refused. */
export function settleRows(
  { events, history, locks, partitions }: SettleParts,
  { settlements, owner }: SettleRequest,
  now: number,
): readonly Settlement[] {
  const ownerHolds = owner !== undefined && locks.isOwner(owner)

  return settlements.filter(({ row: held, outcome }) => {
    const row = held.lockedBy === null && !ownerHolds ? undefined : events.held(held)
    if (row === undefined) return true
    if (held.lockedBy === null && held.epoch !== undefined) {
      const partition = { partition: partitionOfRow(row), epoch: held.epoch }
      if (!partitions.isOwner(owner!.token, partition)) return true
    }

    settleRow(events, history, row, outcome, now)
    return false
  })
}

/** Records the outcome of a row. */
export function settleRow(
  events: MemoryEvents,
  history: MemoryHistory,
  row: MemoryRow,
  outcome: Outcome,
  now: number,
): void {
  if (outcome.kind === 'delete') {
    events.delete(row)
    history.delete(rowIdText(row))
    return
  }
  const fields = settledFields(row, outcome, now)
  const attempt = failedAttempt(row, outcome, fields.attempts ?? row.attempts, now)
  if (attempt !== undefined) addAttempt(history, rowIdText(row), attempt)
  events.change(row, fields)
}

function addAttempt(history: MemoryHistory, id: string, attempt: FailedAttempt): void {
  history.set(id, [...(history.get(id) ?? []), attempt])
}

/** Returns the fields that a settlement changes in a row that is not deleted. */
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

/** Returns the entry that a failure adds to the history of failed attempts, if there is one. */
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
