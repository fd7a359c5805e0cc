import type {
  AuditEntry,
  DeliveryMinute,
  DestinationState,
  FailedAttempt,
  FailureReport,
  Finding,
  Overview,
  PlanProgress,
} from 'sendoff/admin'
import type { Role } from '../guard/visitor.ts'
import type { EventSummary, PayloadView } from './event-view.ts'
import type { MailView } from './mail-view.ts'

/** Who the visitor is, and what the page can show. */
export interface SessionAnswer {
  readonly actor: string
  readonly role: Role
  readonly isReadOnly: boolean
  readonly canSearchText: boolean
  readonly outboxes: readonly string[]
  /** The token that every action repeats in the header `x-sendoff-csrf`. */
  readonly csrfToken: string
}

/** The state of an outbox, as the stream sends it. */
export interface StateAnswer {
  readonly overview: Overview
  /** Plans that this process runs now. */
  readonly runs: readonly PlanProgress[]
  /** The newest depth, which `HistoryAnswer` has the earlier ones of. */
  readonly depth: DepthPoint
}

/** How many events waited at one moment. */
export interface DepthPoint {
  readonly at: number
  readonly pending: number
  readonly dead: number
  /** How long the oldest due event has waited, in milliseconds. */
  readonly lagMs: number
}

/** The last hour. */
export interface HistoryAnswer {
  readonly minutes: readonly DeliveryMinute[]
  /** Depths since this process began to look. Nothing is noted while no page is open. */
  readonly depths: readonly DepthPoint[]
}

/** One page of events. */
export interface EventsAnswer {
  readonly events: readonly EventSummary[]
  readonly cursor: string | null
  /** Whether the time for a search was over before the page was full. */
  readonly isCut: boolean
  /** When the last event that the search examined was written; null if it examined everything. */
  readonly lookedTo: string | null
}

/** Everything about one row of an event. */
export interface EventAnswer {
  readonly event: EventSummary
  readonly payload: PayloadView
  /** A JSON text; null without headers. */
  readonly headers: string | null
  readonly attempts: readonly FailedAttempt[]
  readonly audit: readonly AuditAnswer[]
  readonly neighbours: { readonly before: readonly EventSummary[]; readonly after: readonly EventSummary[] }
  /** The rows of the same event for all destinations, this one included. */
  readonly destinations: readonly EventSummary[]
  readonly traceUrl: string | null
  readonly mail: MailView | null
}

/** Dead events by what went wrong. */
export type FailuresAnswer = FailureReport

/** An ordering key that waits for an operator. */
export interface KeyAnswer {
  readonly orderingKey: string
  readonly destination: string
  readonly isParked: boolean
  readonly head: EventSummary | null
  readonly waiting: number
}

/** Ordering keys. */
export interface KeysAnswer {
  readonly keys: readonly KeyAnswer[]
  /** The destinations that may have more keys, and the key behind which to look for them. */
  readonly more: readonly { readonly destination: string; readonly after: string }[]
}

/** The destinations of an outbox. */
export interface DestinationsAnswer {
  readonly routingVersion: number | null
  readonly destinations: readonly DestinationState[]
}

/** One page of mails. */
export interface MailsAnswer {
  readonly mails: readonly { readonly event: EventSummary; readonly mail: MailView | null }[]
  readonly cursor: string | null
}

/** What the doctor found. */
export interface DoctorAnswer {
  readonly findings: readonly Finding[]
}

/** An entry of the audit. */
export type AuditAnswer = Omit<AuditEntry, 'plan' | 'progress'> & { readonly isPlan: boolean }

/** One page of the audit. */
export interface AuditPageAnswer {
  readonly entries: readonly AuditAnswer[]
  readonly cursor: string | null
}

/** Why a request failed. */
export interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string }
}
