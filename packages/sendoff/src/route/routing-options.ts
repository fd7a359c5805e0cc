import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventMapping } from '../event/event-mapping.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import type { EventTypeLike } from './listener-registry.ts'

/** Which events go to which destinations. */
export interface RoutingOptions {
  /**
   * Raise it with every change of `rules` and `default`, and with a new alias of a defined event that a rule
   * names. The table keeps the routing with the highest version, and all writers follow it.
   */
  readonly version: number
  /** Every rule that fits an event adds its destinations: one row for each. */
  readonly rules: readonly RoutingRule[]
  /** The destinations of an event that no rule fits. Default: the empty one, as without routing. */
  readonly default?: string | readonly string[]
  /** All destinations by name, with their settings. The empty one may be left out. */
  readonly destinations: Readonly<Record<string, DestinationOptions>>
}

/** A rule of a routing. */
export interface RoutingRule {
  /** The destinations that it adds. */
  readonly to: string | readonly string[]
  /**
   * The types that it fits, as events are stored: names, in which each `*` stands for any characters, or
   * defined events, each with its aliases. Default: all.
   */
  readonly events?: EventTypeLike | readonly EventTypeLike[]
  /**
   * The aggregate types that it fits, as a name with or without `*`. Default: all, or that of a defined
   * event.
   */
  readonly aggregateType?: string
  /**
   * Decides at delivery whether the destination gets the event. If no rule of the destination says yes, the
   * row is DONE as filtered. An error is a failed attempt. Default: yes.
   */
  readonly when?: (event: EventEnvelope) => boolean | Promise<boolean>
  /**
   * Returns what to change in the event for this destination. If several rules of a destination fit, the
   * first one whose `when` says yes decides. An error is a failed attempt. Default: nothing.
   */
  readonly map?: (event: EventEnvelope) => EventMapping | Promise<EventMapping>
}

/** Settings of a destination, for the process that delivers to it. */
export interface DestinationOptions {
  /** How many calls of its listeners run at once in this process. Default: `workerCount` of the outbox. */
  readonly concurrency?: number
  /** How many milliseconds a listener may take. Default: `listenerTimeoutMs` of the outbox. */
  readonly timeoutMs?: number
  /** The delays between attempts. Default: `retryPolicy` of the outbox. */
  readonly retry?: RetryPolicy
  /**
   * How many attempts an event gets before it is DEAD; Infinity for no limit. Default: `maxAttempts` of the
   * outbox.
   */
  readonly maxAttempts?: number
  /** Stops deliveries for a while if most of them fail. No attempt is counted meanwhile. Default: none. */
  readonly circuitBreaker?: BreakerOptions | false
}

/** Options of the circuit breaker of a destination. */
export interface BreakerOptions {
  /** The share of failures that opens it. Default: 0.5. */
  readonly failureRate?: number
  /** How many calls the window needs before it can open. Default: 10. */
  readonly minimumCalls?: number
  /** For how many milliseconds calls count. Default: 10 s. */
  readonly windowMs?: number
  /** How many milliseconds it stays open before it tries a call again. Default: 5 s. */
  readonly coolDownMs?: number
  /** How many trial calls in a row must succeed before it closes. Default: 1. */
  readonly trialCalls?: number
}
