import { type Clock, systemClock } from '../clock.ts'
import { JsonCodec } from '../event/json-codec.ts'
import type { DeliveryCounts } from '../observe/delivery-counts.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import { engineMetrics, type MetricsExporter } from '../observe/metrics.ts'
import type { OutboxEvents } from '../observe/outbox-events.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import type { DeliverySurroundings } from '../process/delivery-surroundings.ts'
import type { EventRules } from '../process/event-rules.ts'
import type { GivenUp } from '../process/processing-chain.ts'
import type { Processors } from '../process/processor.ts'
import { exponentialBackoff } from '../retry/exponential-backoff.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import type { EventInterceptor } from '../route/event-interceptor.ts'
import type { ListenerRegistry } from '../route/listener-registry.ts'
import type { OutboxStore, Outcome, Row } from '../store/index.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { Pauses } from '../hold/pauses.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { SuspectTurns } from './suspect-turns.ts'
import type { Waker } from '../wake/waker.ts'

/** Settings of dispatching. The defaults suit most applications. */
export interface DispatchSettings {
  /**
   * Tracks the rows that this process holds. Each outbox needs its own. Default: one without a time limit.
   */
  readonly inFlightTracker: InFlightTracker
  /** How many calls of listeners run at once. Default: 4. */
  readonly workerCount: number
  /** How many deliveries may wait in the hot queue. Default: 1000. */
  readonly hotQueueCapacity: number
  /** How many deliveries may wait in the cold queue. Default: 1000. */
  readonly coldQueueCapacity: number
  /** How many turns the hot queue has for each turn of the cold one. Default: 2. */
  readonly hotShare: number
  /** How many attempts an event gets before it is DEAD. Default: 10. */
  readonly maxAttempts: number
  /** The delays between attempts. Default: exponential, from 200 ms to 60 s. */
  readonly retryPolicy: RetryPolicy
  /** Policies by event type. A listener's own policy comes before them. */
  readonly retryPolicyByType: Readonly<Record<string, RetryPolicy>>
  /** How many losses in a row make an event DEAD. Default: 20. */
  readonly maxLosses: number
  /** How many milliseconds a listener may take, unless its registration says otherwise. Default: 5 min. */
  readonly listenerTimeoutMs: number
  /**
   * How many milliseconds a listener may continue after it was told to stop, before its worker gives it up.
   * Default: 30 s.
   */
  readonly timeoutGraceMs: number
  /**
   * How to treat an event without a listener in this process. With `'defer'`, the event waits. Default:
   * `'dead'`.
   */
  readonly onUnroutable: 'dead' | 'defer'
  /** After how many milliseconds a worker tries again to route such an event. Default: 60 s. */
  readonly unroutableDelayMs: number
  /**
   * Whether a worker takes its next event only after the last outcome is stored. With true, a crash repeats
   * fewer deliveries. Default: false.
   */
  readonly settleFirst: boolean
  /** Whether delivered events are deleted instead of kept as DONE. Default: false. */
  readonly deleteCompleted: boolean
  /** Called around every delivery. Default: none. */
  readonly interceptors: readonly EventInterceptor[]
  /** Replacements for stages of the processing chain. */
  readonly processors: Partial<Processors>
}

/** Settings of lanes. The deliveries of one lane run one after another. */
export interface LaneSettings {
  /** Returns the key of the lane that a row belongs to. */
  readonly laneOf: (row: Row) => string
  /** Returns the number of the partition that a lane belongs to. */
  readonly partitionOf: (laneKey: string) => number
  /**
   * Whether the later events of a lane wait for one that has to be delivered again, or the lane continues
   * without it.
   */
  readonly onFailure: 'wait' | 'continue'
}

/** Options of `OutboxDispatcher`. */
export interface OutboxDispatcherOptions extends Partial<DispatchSettings> {
  /** Decides what becomes of an event after its last attempt. Default: `'dead'` for all. */
  readonly onGivenUp?: (row: Row) => GivenUp
  /** The store that settles and releases rows. */
  readonly store: Pick<OutboxStore<never>, 'people' | 'release' | 'settle'>
  /** The registry with the listeners that events are routed to. */
  readonly listeners: ListenerRegistry
  /** Parses payloads for listeners. Default: `JsonCodec.getDefault()`. */
  readonly codec?: JsonCodec
  /** The time for leases, delays and time limits. Default: the clock of the machine. */
  readonly clock?: Clock
  /** Returns a number from 0 to below 1, for the default retry policy. Default: `Math.random`. */
  readonly random?: () => number
  /** Receives faults. Default: standard error. */
  readonly logger?: Logger
  /** Counts deliveries and outcomes. Default: none. */
  readonly metrics?: MetricsExporter
  /** Tells subscribers about failures. Default: none. */
  readonly events?: OutboxEvents
  /** Runs listeners in the context of their events. Default: none. */
  readonly surroundings?: DeliverySurroundings | undefined
  /** Makes spans of settlements. Default: none. */
  readonly tracing?: Tracing | undefined
  /** Counts deliveries by type and destination, for the statistics of the store. Default: none. */
  readonly counts?: DeliveryCounts
  /** The event types and destinations that are paused. Default: none. */
  readonly pauses?: Pauses
  /** Lets hot deliveries through while they succeed. Otherwise leaves them to the poller. */
  readonly breaker?: CircuitBreaker
  /** Whether the breaker decides about cold deliveries, too. Default: false. */
  readonly breaksCold?: boolean
  /** Called with every result of a listener, before its settlement. */
  readonly onOutcome?: (outcome: Outcome) => void
  /**
   * Whether a cold delivery may begin now. None may begin while every delivery fails, or shortly before a
   * lock runs out: the lock has to be renewed first. If none may begin, `again` is called as soon as one may.
   */
  readonly mayBegin?: (again: () => void) => boolean
  /** Filters and maps events by the rules of a routing. Default: none. */
  readonly rules?: EventRules
  /** The turns in which suspects run, if the process has several dispatchers. Default: none. */
  readonly suspectTurns?: SuspectTurns
  /** Divides the cold queue into lanes. Each lane runs one delivery after another. */
  readonly lanes?: LaneSettings
  /** Called when the store refused to settle a row that was read under the lock: the lock may be lost. */
  readonly onRefusedUnderLock?: () => void
  /** Reports when the store answers again, so that the settler soon repeats a failed settlement. */
  readonly recovery?: StoreRecovery
  /**
   * How many milliseconds the dispatcher keeps a result whose settlement was refused, in case the row comes
   * back. Default: 2 min.
   */
  readonly resultsKeptMs?: number
  /**
   * Limits the queues to the events that listeners can begin within about a second. The dispatcher hands back
   * events that would wait longer, so that other processes find them. The limit is `first` until the duration
   * of listeners is known. Not used with lanes.
   */
  readonly prefetch?: { readonly first: number }
  /** No delivery begins while this many outcomes wait for the store's acknowledgement. Default: 2000. */
  readonly maxUnsettled?: number
  /**
   * Writes to the database which rows this process holds without a lease. Called after the process has let go
   * of many.
   */
  readonly recordHeld?: () => Promise<void>
  /**
   * Called while closing, after the dispatcher has handed back every delivery that had not begun. Only
   * running rows need protection from then on.
   */
  readonly onlyRunning?: (dispatcher: LeaseTaker) => Promise<void>
  /** Called at the end of closing: every delivery has ended, or was given up. */
  readonly onClosed?: () => Promise<void>
  /** Leases one row that was handed back. Resolves to undefined if another process holds it. */
  readonly claimAgain?: (delivery: Delivery) => Promise<Delivery | undefined>
  /**
   * Wakes pollers when rows are handed back or fall due, when the cold queue has room, and when lanes run
   * empty. Also wakes other processes for rows that they should find.
   */
  readonly waker?: Waker
}

/** Takes new leases for rows that were read under a lock. */
export interface LeaseTaker {
  carryOn(claimed: readonly Delivery[]): void
}

/** Defaults of the dispatcher's options. */
export const dispatchDefaults = {
  workerCount: 4,
  hotQueueCapacity: 1_000,
  coldQueueCapacity: 1_000,
  hotShare: 2,
  maxAttempts: 10,
  maxLosses: 20,
  listenerTimeoutMs: 300_000,
  timeoutGraceMs: 30_000,
  onUnroutable: 'dead',
  unroutableDelayMs: 60_000,
  settleFirst: false,
  deleteCompleted: false,
  resultsKeptMs: 120_000,
  maxUnsettled: 2_000,
} as const

/** Default time limits of closing, in milliseconds. */
export const closeDefaults = { drainTimeoutMs: 5_000, shutdownTimeoutMs: 15_000 }

/** Returns the options, with the default of each one that is left out or undefined. */
export function withDefaults(options: OutboxDispatcherOptions) {
  return {
    ...options,
    clock: options.clock ?? systemClock,
    logger: options.logger ?? standardLogger,
    metrics: engineMetrics(options.metrics),
    codec: options.codec ?? JsonCodec.getDefault(),
    workerCount: options.workerCount ?? dispatchDefaults.workerCount,
    hotQueueCapacity: options.hotQueueCapacity ?? dispatchDefaults.hotQueueCapacity,
    coldQueueCapacity: options.coldQueueCapacity ?? dispatchDefaults.coldQueueCapacity,
    hotShare: options.hotShare ?? dispatchDefaults.hotShare,
    maxAttempts: options.maxAttempts ?? dispatchDefaults.maxAttempts,
    maxLosses: options.maxLosses ?? dispatchDefaults.maxLosses,
    listenerTimeoutMs: options.listenerTimeoutMs ?? dispatchDefaults.listenerTimeoutMs,
    timeoutGraceMs: options.timeoutGraceMs ?? dispatchDefaults.timeoutGraceMs,
    onUnroutable: options.onUnroutable ?? dispatchDefaults.onUnroutable,
    unroutableDelayMs: options.unroutableDelayMs ?? dispatchDefaults.unroutableDelayMs,
    settleFirst: options.settleFirst ?? dispatchDefaults.settleFirst,
    deleteCompleted: options.deleteCompleted ?? dispatchDefaults.deleteCompleted,
    resultsKeptMs: options.resultsKeptMs ?? dispatchDefaults.resultsKeptMs,
    maxUnsettled: options.maxUnsettled ?? dispatchDefaults.maxUnsettled,
    retryPolicy: options.retryPolicy ?? exponentialBackoff(options.random && { random: options.random }),
    retryPolicyByType: options.retryPolicyByType ?? {},
    interceptors: options.interceptors ?? [],
    processors: options.processors ?? {},
    onGivenUp: options.onGivenUp ?? alwaysDead,
  }
}

function alwaysDead(): GivenUp {
  return 'dead'
}
