import { EventStatus, isPending } from '../store/event-status.ts'
import type { StoredRow } from '../store/index.ts'
import type { RecordedDelivery } from './delivery-recorder.ts'
import { describeEvent } from './describe-event.ts'

/** The state of an outbox at one moment. */
export interface OutboxSnapshot {
  readonly deliveries: readonly RecordedDelivery[]
  readonly rows: readonly StoredRow[]
  /** Ids of events that a listener is working on. */
  readonly running: ReadonlySet<string>
  /** Current time, in epoch ms. */
  readonly now: number
}

/** Describes what was delivered, what is pending and what is dead, for the message of a failed test. */
export function describeOutbox({ deliveries, rows, running, now }: OutboxSnapshot): string {
  const pending = rows.filter((row) => isPending(row.status))
  const dead = rows.filter((row) => row.status === EventStatus.DEAD)
  return [
    section('Delivered', deliveries.map(describeDelivery)),
    section(
      'Pending',
      pending.map((row) => describePending(row, running, now)),
    ),
    section(
      'Dead',
      dead.map((row) => `${describeEvent(row)}: ${row.lastError ?? 'no reason given'}`),
    ),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? `${title}: nothing` : `${title}:${lines.map((line) => `\n  ${line}`).join('')}`
}

function describeDelivery({ event, outcome, error }: RecordedDelivery): string {
  return `${describeEvent(event)}: ${outcome}${error === null ? '' : ` (${error})`}`
}

function describePending(row: StoredRow, running: ReadonlySet<string>, now: number): string {
  const failures = row.attempts === 0 ? '' : ` after ${row.attempts} failed (${row.lastError})`
  const event = `${describeEvent(row)}${failures}`
  if (running.has(row.eventId)) return `${event}: its listener has not returned`
  if (row.blockedAt !== null) return `${event}: blocked`
  return row.availableAt > now
    ? `${event}: due in ${row.availableAt - now} ms, so advance() the clock`
    : `${event}: due`
}
