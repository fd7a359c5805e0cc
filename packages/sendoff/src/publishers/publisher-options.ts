import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import { anything, callable, duration, having, type OptionCheck } from '../options.ts'
import type { Routed } from '../publisher.ts'

/** Options of all publishers. */
export interface PublisherOptions {
  /** Headers in addition to those of every message. They override the headers of the event. */
  readonly headers?: Routed<Readonly<Record<string, string>>>
  /** Returns the body of the message; by default it is the payload as stored. */
  readonly body?: (event: EventEnvelope) => string | Uint8Array
  /** Events for which this returns false are done without being sent. */
  readonly filter?: (event: EventEnvelope) => boolean
  /** Sends CloudEvents 1.0. */
  readonly cloudEvents?: CloudEventsOptions
  /** How long the broker may take to reply to one message, in ms. */
  readonly timeoutMs?: number
  /**
   * How long events wait at first while the broker cannot be reached, in ms. The wait doubles up to
   * `maxRetryAfterMs`.
   */
  readonly retryAfterMs?: number
  /** The longest wait while the broker cannot be reached: 5 s. */
  readonly maxRetryAfterMs?: number
  /** Logs once when the broker becomes unreachable, and once when it is back. */
  readonly logger?: Logger | false
}

/** How events become CloudEvents. */
export interface CloudEventsOptions {
  /**
   * `binary` puts the attributes into headers and leaves the body unchanged; `structured` puts everything
   * into one JSON document.
   */
  readonly mode: 'binary' | 'structured'
  /** Origin of the events, as a URI reference: `/shop/orders`. */
  readonly source: Routed<string>
  /** Type attribute; the event's type by default. */
  readonly type?: Routed<string>
}

/** Defaults of all publishers. */
export const publisherDefaults = { timeoutMs: 10_000, retryAfterMs: 1_000, maxRetryAfterMs: 5_000 }

/** Checks of the options of all publishers. */
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
