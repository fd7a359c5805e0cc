import type { Clock } from '../clock.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import type { Logger } from '../observe/logger.ts'
import type { MetricsExporter } from '../observe/metrics.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import type { GivenUp } from '../process/processing-chain.ts'
import type { Processors } from '../process/processor.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import type { EventInterceptor } from '../route/event-interceptor.ts'
import type { ListenerRegistry } from '../route/listener-registry.ts'
import type { OutboxStore, Outcome, Row } from '../store/index.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { Pauses } from '../hold/pauses.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { Waker } from '../wake/waker.ts'

/** What can be tuned about dispatching, with defaults that suit most. */
export interface DispatchSettings {
  /** Knows what this process holds: one without a time limit. Each outbox needs one of its own. */
  readonly inFlightTracker: InFlightTracker
  /** How many listeners run at once: 4. */
  readonly workerCount: number
  /** 1000. */
  readonly hotQueueCapacity: number
  /** 1000. */
  readonly coldQueueCapacity: number
  /** Turns of the hot queue for each turn of the cold one: 2. */
  readonly hotShare: number
  /** Attempts at an event before it is DEAD: 10. */
  readonly maxAttempts: number
  /** Exponential, from 200 ms to 60 s. */
  readonly retryPolicy: RetryPolicy
  /** Policies by event type; a listener's own comes before them. */
  readonly retryPolicyByType: Readonly<Record<string, RetryPolicy>>
  /** How many processes in a row an event may take down before it is DEAD: 20. */
  readonly maxLosses: number
  /** How long a listener may take, where its registration does not say: 5 min. */
  readonly listenerTimeoutMs: number
  /** How long a listener that was told to stop may go on before it is given up: 30 s. */
  readonly timeoutGraceMs: number
  /** What becomes of an event that nobody here listens for: `'dead'`. With `'defer'` it waits. */
  readonly onUnroutable: 'dead' | 'defer'
  /** How long such an event waits before it is looked at again: 60 s. */
  readonly unroutableDelayMs: number
  /** A worker takes its next event when the outcome of the last one is stored: false. Fewer events are then delivered twice after a crash. */
  readonly settleFirst: boolean
  /** Removes delivered events instead of keeping them as DONE: false. */
  readonly deleteCompleted: boolean
  /** Called around every delivery. */
  readonly interceptors: readonly EventInterceptor[]
  /** Stages of the processing chain to be used instead of the usual ones. */
  readonly processors: Partial<Processors>
}

export interface LaneSettings {
  readonly laneOf: (row: Row) => string
  readonly partitionOf: (laneKey: string) => number
  /** What an event that has to be delivered again does to those behind it in its lane. */
  readonly onFailure: 'wait' | 'goOn'
}

export interface OutboxDispatcherOptions extends Partial<DispatchSettings> {
  /** `'dead'` for all. */
  readonly onGivenUp?: (row: Row) => GivenUp
  readonly store: Pick<OutboxStore<never>, 'query' | 'release' | 'settle'>
  readonly listeners: ListenerRegistry
  readonly codec?: JsonCodec
  readonly clock?: Clock
  readonly logger?: Logger
  readonly metrics?: MetricsExporter
  readonly pauses?: Pauses
  /** Lets hot deliveries through while they succeed; others are left to the poller. */
  readonly breaker?: CircuitBreaker
  /** Called with every result of a listener, before it is settled. */
  readonly onOutcome?: (outcome: Outcome) => void
  /**
   * Whether a cold delivery may begin now: not shortly before a lock runs out, which is renewed first, and not while everything
   * fails. Otherwise `again` is called when it may.
   */
  readonly mayBegin?: (again: () => void) => boolean
  /** Keeps the cold queue in lanes, each of which runs one delivery after another. */
  readonly lanes?: LaneSettings
  /** Called when the settlement of something that was read under the lock was refused: the lock may be lost. */
  readonly onRefusedUnderLock?: () => void
  /** Hears of answers of the store, so that settlements are repeated as soon as there is one. */
  readonly recovery?: StoreRecovery
  /** How long a result is of use whose settlement was refused, in case that the row comes back: 2 min. */
  readonly resultsKeptMs?: number
  /**
   * Takes no more than listeners can begin within about a second, and hands back what would wait for longer, so that other processes find
   * it; `first` events until it is known how long listeners take. Not with lanes.
   */
  readonly prefetch?: { readonly first: number }
  /** Outcomes that the store has not acknowledged beyond this stop new work until it answers: 2000. */
  readonly maxUnsettled?: number
  /** Tells the database what this process holds without a lease, after much of it was let go of. */
  readonly recordHeld?: () => Promise<void>
  /** Called when closing has handed back everything that had not begun: what still runs is to be kept from others, and nothing else. */
  readonly onlyRunning?: (dispatcher: LeaseTaker) => Promise<void>
  /** Leases one row that was handed back; undefined if somebody else has it. */
  readonly claimAgain?: (delivery: Delivery) => Promise<Delivery | undefined>
  /**
   * Hears of rows that were let go of or fall due, of room in the cold queue and lanes that have run empty, and of what other
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
