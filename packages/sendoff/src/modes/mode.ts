import type { Clock } from '../clock.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { DispatchSettings, OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import type { OutboxDispatcher } from '../dispatch/outbox-dispatcher.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import type { PartitionKeeper } from '../hold/partition-keeper.ts'
import type { Pauses } from '../hold/pauses.ts'
import type { Logger } from '../observe/logger.ts'
import type { EngineMetrics } from '../observe/metrics.ts'
import type { OutboxEvents } from '../observe/outbox-events.ts'
import type { PendingSource } from '../poll/pending-source.ts'
import type { CircuitBreaker, CircuitBreakerOptions } from '../process/circuit-breaker.ts'
import type { ListenerRegistry } from '../route/listener-registry.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { Lease, OutboxStore } from '../store/index.ts'
import type { PollerAlarm } from '../wake/poller-alarm.ts'
import type { HotPath } from '../write/hot-path.ts'
import type { LockTimes } from './lock-times.ts'

/** How the processes of a table share the delivery of events. */
export interface Mode<Options extends ModeOptions = ModeOptions> {
  /** Returns how long the mode's lock lasts, and how long before its end it is renewed. */
  lockTimes(leaseMs: number, options: Options): LockTimes

  /** Makes the parts that one process needs for the mode. */
  open(options: Options, parts: ModeParts): ModeSetup
}

/** The user's options that every mode reads. */
export interface ModeOptions extends Partial<DispatchSettings> {
  /** The store without time limits. */
  readonly store: Pick<OutboxStore<never>, 'wakeUps'>
  readonly listeners: ListenerRegistry
  readonly poller?: PollSettings
}

/** Settings of the poller that a mode may give other defaults. */
export interface PollSettings {
  readonly intervalMs?: number
  readonly busyIntervalMs?: number
  readonly batchSize?: number
  readonly maxBatchSize?: number
}

/** The parts that exist before those of the mode. */
export interface ModeParts {
  /** The store with a time limit on its calls. */
  readonly store: OutboxStore<never>
  readonly lease: Lease
  readonly inFlight: InFlightTracker
  readonly waker: PollerAlarm
  readonly membership: Membership
  readonly pauses: Pauses
  readonly recovery: StoreRecovery
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: EngineMetrics
  readonly events: OutboxEvents
  /** The destination that these parts deliver to. */
  readonly scope: DestinationScope
  /**
   * Returns what `make` made for the first destination: parts that all destinations of this process share.
   */
  readonly shared: <Part>(make: () => Part) => Part
  /** The poller skips events that were written less than this many milliseconds ago. */
  readonly skipRecentMs: number
}

/** One destination of this process. */
export interface DestinationScope {
  /** Its name; empty without routing. */
  readonly destination: string
  /** Whether this process has a routing, so that its engines deliver only what they have listeners for. */
  readonly isNamed: boolean
  /** Whether the table may have rows for other destinations. */
  hasOthers(): boolean
  /** Its circuit breaker, if it has one. */
  readonly breaker?: CircuitBreakerOptions | false | undefined
}

/** Says whether this process may use the table in its mode. */
export interface Membership {
  /** Whether it is certain that this process is registered now. */
  isMember(): boolean
  /** Resolves to whether it is registered, and asks the store if that may have changed. */
  staysMember(): Promise<boolean>
}

/** The parts of a mode that its dispatcher needs. `connect` adds those that need the dispatcher. */
export interface ModeSetup {
  /** The lock under which rows are read; undefined if each row is leased. */
  readonly lock?: NamedLock
  /** Keeps events from the hot path while deliveries fail. */
  readonly breaker?: CircuitBreaker | undefined
  readonly dispatching: Partial<OutboxDispatcherOptions>
  readonly polling: PollSettings
  connect(dispatcher: OutboxDispatcher): ModeEnds
}

/** The ways by which events reach a dispatcher. */
export interface ModeEnds {
  readonly source: PendingSource
  readonly hotPath: HotPath & Idling
  /** Keeps the process's share of the partitions, in a mode that has shares. */
  readonly keeper?: PartitionKeeper
}

/** A part that may have events on their way. */
interface Idling {
  /** Resolves when no event is on its way. */
  idle?(): Promise<void>
}
