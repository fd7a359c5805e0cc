import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import { anything, callable, duration, having, type OptionCheck } from '../options.ts'
import type { Routed } from '../publisher.ts'

/** The options that all publishers have. */
export interface PublisherOptions {
  /** Headers beside those that every message has, and over those that the event brings along. */
  readonly headers?: Routed<Readonly<Record<string, string>>>
  /** The body of the message instead of the payload as it is stored. */
  readonly body?: (event: EventEnvelope) => string | Uint8Array
  /** Events for which this answers false are done without being sent. */
  readonly filter?: (event: EventEnvelope) => boolean
  /** Sends CloudEvents 1.0. */
  readonly cloudEvents?: CloudEventsOptions
  /** How long one message may take until the broker has answered. */
  readonly timeoutMs?: number
  /** How long events wait while the broker cannot be reached: at first, and at the most. It doubles in between. */
  readonly retryAfterMs?: number
  /** The longest wait while the broker cannot be reached: 5 s. */
  readonly maxRetryAfterMs?: number
  /** Told once when the broker cannot be reached any more, and once when it is back. */
  readonly logger?: Logger | false
}

/** How events are sent as CloudEvents. */
export interface CloudEventsOptions {
  /** `binary` puts the attributes into headers and leaves the body as it is; `structured` makes one JSON document of all. */
  readonly mode: 'binary' | 'structured'
  /** Where the events come from, as a URI reference: `/shop/orders`. */
  readonly source: Routed<string>
  /** The event's type unless told otherwise. */
  readonly type?: Routed<string>
}

/** The value of each option of a publisher that is left out. */
export const publisherDefaults = { timeoutMs: 10_000, retryAfterMs: 1_000, maxRetryAfterMs: 5_000 }

/** The checks of the options that all publishers have. */
export const publisherOptionChecks: Readonly<Record<string, OptionCheck>> = {
  headers: anything,
  body: callable,
  filter: callable,
  cloudEvents: (value) =>
    typeof value === 'object' && value !== null && 'source' in value && 'mode' in value
      ? undefined
      : 'an object with mode and source',
  timeoutMs: duration,
  retryAfterMs: duration,
  maxRetryAfterMs: duration,
  logger: (value) => (value === false ? undefined : having('debug', 'info', 'warn', 'error')(value)),
}
