import { type Clock, systemClock } from '../clock.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import { type MetricsExporter, noMetrics } from '../observe/metrics.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
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
import type { Waker } from '../wake/waker.ts'

/** Settings of dispatching. The defaults suit most applications. */
export interface DispatchSettings {
  /** The rows that this process holds: by default a tracker without a time limit. Each outbox needs one of its own. */
  readonly inFlightTracker: InFlightTracker
  /** How many listeners run at once: 4. */
  readonly workerCount: number
  /** Deliveries that may wait in the hot queue: 1000. */
  readonly hotQueueCapacity: number
  /** Deliveries that may wait in the cold queue: 1000. */
  readonly coldQueueCapacity: number
  /** Turns of the hot queue for each turn of the cold one: 2. */
  readonly hotShare: number
  /** Attempts at an event before it is DEAD: 10. */
  readonly maxAttempts: number
  /** The delays between attempts: exponential, from 200 ms to 60 s. */
  readonly retryPolicy: RetryPolicy
  /** Policies by event type; a listener's own comes before them. */
  readonly retryPolicyByType: Readonly<Record<string, RetryPolicy>>
  /** How many processes in a row an event may take down before it is DEAD: 20. */
  readonly maxLosses: number
  /** How long a listener may take, where its registration does not say: 5 min. */
  readonly listenerTimeoutMs: number
  /** How long a listener that was told to stop may keep running before its worker gives it up: 30 s. */
  readonly timeoutGraceMs: number
  /** The fate of an event without a listener in this process: `'dead'`. With `'defer'` it waits. */
  readonly onUnroutable: 'dead' | 'defer'
  /** How long such an event waits until a worker tries to route it again: 60 s. */
  readonly unroutableDelayMs: number
  /** A worker takes its next event only when the outcome of the last one is stored: false. A crash then repeats fewer deliveries. */
  readonly settleFirst: boolean
  /** Removes delivered events instead of keeping them as DONE: false. */
  readonly deleteCompleted: boolean
  /** Called around every delivery. */
  readonly interceptors: readonly EventInterceptor[]
  /** Stages of the processing chain to be used instead of the usual ones. */
  readonly processors: Partial<Processors>
}

/** How a dispatcher keeps deliveries in order: those of one lane run one after another. */
export interface LaneSettings {
  /** Returns the key of the lane that a row belongs to. */
  readonly laneOf: (row: Row) => string
  /** Returns the number of the partition that a lane belongs to. */
  readonly partitionOf: (laneKey: string) => number
  /** Whether the events behind one that has to be delivered again wait for it, or the lane continues without it. */
  readonly onFailure: 'wait' | 'continue'
}

/** Options of `OutboxDispatcher`. */
export interface OutboxDispatcherOptions extends Partial<DispatchSettings> {
  /** The fate of an event that is given up: `'dead'` for all. */
  readonly onGivenUp?: (row: Row) => GivenUp
  /** The store that settles and releases rows. */
  readonly store: Pick<OutboxStore<never>, 'people' | 'release' | 'settle'>
  /** The registry with the listeners that events are routed to. */
  readonly listeners: ListenerRegistry
  /** Parses payloads for listeners: `JsonCodec.getDefault()`. */
  readonly codec?: JsonCodec
  /** The time for leases, delays and time limits: the clock of the machine. */
  readonly clock?: Clock
  /** Receives faults: standard error. */
  readonly logger?: Logger
  /** Counts deliveries and outcomes: none. */
  readonly metrics?: MetricsExporter
  /** The event types and destinations that are paused: none. */
  readonly pauses?: Pauses
  /** Lets hot deliveries through while they succeed, and leaves them to the poller otherwise. */
  readonly breaker?: CircuitBreaker
  /** Called with every result of a listener, before it is settled. */
  readonly onOutcome?: (outcome: Outcome) => void
  /**
   * Whether a cold delivery may begin now: not shortly before a lock runs out, which is renewed first, and not while every
   * delivery fails. Where it may not, `again` is called as soon as it may.
   */
  readonly mayBegin?: (again: () => void) => boolean
  /** Keeps the cold queue in lanes, each of which runs one delivery after another. */
  readonly lanes?: LaneSettings
  /** Called when the store refused to settle a row that was read under the lock: the lock may be lost. */
  readonly onRefusedUnderLock?: () => void
  /** Hears of every answer of the store, so that a failed settlement is repeated after the next one. */
  readonly recovery?: StoreRecovery
  /** How long the dispatcher keeps a result whose settlement was refused, in case the row comes back: 2 min. */
  readonly resultsKeptMs?: number
  /**
   * Takes no more events than listeners can begin within about a second, and hands back those that would wait for longer, so that
   * other processes find them. Takes `first` events until it knows how long listeners take. Not with lanes.
   */
  readonly prefetch?: { readonly first: number }
  /** With this many outcomes that the store has not acknowledged, no delivery begins: 2000. */
  readonly maxUnsettled?: number
  /** Tells the database which rows this process holds without a lease, after it has let go of many. */
  readonly recordHeld?: () => Promise<void>
  /** Called while closing, after every delivery that had not begun was handed back: only running ones have to be kept from others now. */
  readonly onlyRunning?: (dispatcher: LeaseTaker) => Promise<void>
  /** Leases one row that was handed back; undefined where another process holds it. */
  readonly claimAgain?: (delivery: Delivery) => Promise<Delivery | undefined>
  /**
   * Hears of rows that were let go of or fall due, of room in the cold queue, of lanes that have run empty, and of rows that other
   * processes are to find.
   */
  readonly waker?: Waker
}

/** Takes over leases on rows that were read under a lock. */
export interface LeaseTaker {
  carryOn(claimed: readonly Delivery[]): void
}

/** The value of each option that is left out. */
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

/** The time limits of closing, where the caller sets none. */
export const closeDefaults = { drainTimeoutMs: 5_000, shutdownTimeoutMs: 15_000 }

/** The options, with the default of each one that is left out or undefined. */
export function withDefaults(options: OutboxDispatcherOptions) {
  return {
    ...options,
    clock: options.clock ?? systemClock,
    logger: options.logger ?? standardLogger,
    metrics: options.metrics ?? noMetrics,
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
    retryPolicy: options.retryPolicy ?? exponentialBackoff(),
    retryPolicyByType: options.retryPolicyByType ?? {},
    interceptors: options.interceptors ?? [],
    processors: options.processors ?? {},
    onGivenUp: options.onGivenUp ?? alwaysDead,
  }
}

function alwaysDead(): GivenUp {
  return 'dead'
}
