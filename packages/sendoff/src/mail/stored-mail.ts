import { EventStatus } from '../store/event-status.ts'
import type { StoredRow } from '../store/index.ts'

/**
 * State of a mail. `NEW` and `SENDING` mails are still to be sent. A `FAILED` mail has not reached some
 * recipient, and no worker tries it again.
 */
export type MailState = 'NEW' | 'SENDING' | 'SENT' | 'FAILED'

/** A mail as operators see it, without its content. */
export interface StoredMail {
  readonly id: string
  /** Rises in write order. */
  readonly seq: number
  readonly provider: string
  readonly state: MailState
  /** Number of failed attempts that count. */
  readonly attempts: number
  readonly lastError: string | null
  readonly enqueuedAt: Date
  /** When the mail is due, for the first time or again. */
  readonly sendAt: Date
  readonly sentAt: Date | null
}

/** Returns a row as a mail. */
export function storedMail(row: StoredRow, now: number): StoredMail {
  const state = stateOf(row, now)
  return {
    id: row.eventId,
    seq: row.seq,
    provider: row.eventType,
    state,
    attempts: row.attempts,
    lastError: row.lastError,
    enqueuedAt: new Date(row.createdAt),
    sendAt: new Date(row.availableAt),
    sentAt: state === 'SENT' && row.doneAt !== null ? new Date(row.doneAt) : null,
  }
}

function stateOf({ status, lockedBy, lockedUntil }: StoredRow, now: number): MailState {
  if (status === EventStatus.DONE) return 'SENT'
  if (status === EventStatus.DEAD) return 'FAILED'
  return lockedBy !== null && lockedUntil !== null && lockedUntil > now ? 'SENDING' : 'NEW'
}
