export { type Clock, systemClock } from './clock.ts'
export { BlockedKeyManager, type BlockedKeyManagerOptions } from './dead/blocked-key-manager.ts'
export { DeadEventManager, type DeadEventManagerOptions } from './dead/dead-event-manager.ts'
export { Delivery, type DeliverySource, type Holding } from './delivery/delivery.ts'
export { InFlightTracker, type InFlightTrackerOptions } from './delivery/in-flight-tracker.ts'
export type {
  DispatchSettings,
  LaneSettings,
  OutboxDispatcherOptions,
} from './dispatch/dispatcher-options.ts'
export { OutboxDispatcher } from './dispatch/outbox-dispatcher.ts'
export type { EnvelopeOptions } from './event/event-envelope.ts'
export type { PlainEventType } from './event/event-type.ts'
export { partitionOf } from './store/partition-of.ts'
export { monotonicUlids } from './event/ulid.ts'
export { LeaseKeeper, type LeaseKeeperOptions } from './hold/lease-keeper.ts'
export { Pauses } from './hold/pauses.ts'
export { DispatcherHotPath, type DispatcherHotPathOptions } from './hot-path/dispatcher-hot-path.ts'
export { standardLogger } from './observe/logger.ts'
export type { TracedSpan, Tracer } from './observe/tick-span.ts'
export { OutboxBackend } from './outbox/outbox-backend.ts'
export type { PollerSettings, SingleWriterLock } from './outbox/outbox-options.ts'
export { claimSource, type ClaimSourceOptions } from './poll/claim-source.ts'
export { OutboxPoller, type OutboxPollerHandler, type OutboxPollerOptions } from './poll/outbox-poller.ts'
export type { PendingBatch, PendingSource } from './poll/pending-source.ts'
export type { CircuitBreakerOptions } from './process/circuit-breaker.ts'
export type { FailedDelivery, PrimaryProcessor, Processor, Processors } from './process/processor.ts'
export type { PublishAnswer, PublishContext, Publisher, Routed } from './publisher.ts'
export {
  OutboxPurgeScheduler,
  type OutboxPurgeSchedulerOptions,
  type PurgeOptions,
  type PurgeProgress,
} from './purge/outbox-purge-scheduler.ts'
export type { ExponentialBackoffOptions } from './retry/exponential-backoff.ts'
export type { FixedDelayOptions } from './retry/fixed-delay.ts'
export type { LinearBackoffOptions } from './retry/linear-backoff.ts'
export type { ErrorFilter } from './retry/retry-policy.ts'
export type { RetryScheduleOptions } from './retry/retry-schedule.ts'
export type { Route } from './route/listener-registry.ts'
export { PollerAlarm, type PollerAlarmOptions } from './wake/poller-alarm.ts'
export type { Waker } from './wake/waker.ts'
export { AmbientTransactions, type AmbientTransactionsOptions } from './write/ambient-transactions.ts'
export type { ColdReason, HotPath, HotSlot } from './write/hot-path.ts'
export { OutboxWriter, type OutboxWriterOptions } from './write/outbox-writer.ts'
export type { TxContext } from './write/tx-context.ts'
