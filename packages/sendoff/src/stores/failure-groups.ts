import { type FailureGroup, maxFailureText } from '../store/index.ts'

/** A DEAD row, as far as its failure goes. */
export interface FailedRow {
  readonly eventType: string
  readonly destination: string
  readonly error: string
  readonly endedAt: number
  readonly eventId: string
}

/** Adds a DEAD row to the group of its type, destination and error. Its last row is the sample. */
export function addFailure(groups: Map<string, FailureGroup>, row: FailedRow): void {
  const { eventType, destination, endedAt, eventId } = row
  const error = row.error.slice(0, maxFailureText)
  const name = JSON.stringify([eventType, destination, error])
  const { count = 0, firstAt = endedAt, lastAt = endedAt } = groups.get(name) ?? {}
  groups.set(name, {
    eventType,
    destination,
    error,
    count: count + 1,
    firstAt: Math.min(firstAt, endedAt),
    lastAt: Math.max(lastAt, endedAt),
    sample: eventId,
  })
}
