export { type Clock, systemClock } from './clock.ts'
export { BlockedKeyManager, type BlockedKeyManagerOptions } from './dead/blocked-key-manager.ts'
export {
  type DeadEventFilter,
  DeadEventManager,
  type DeadEventManagerOptions,
  type ReplayOptions,
} from './dead/dead-event-manager.ts'
export { Delivery, type DeliverySource, type Holding } from './delivery/delivery.ts'
export { DispatcherHotPath, type DispatcherHotPathOptions } from './hot-path/dispatcher-hot-path.ts'
export type {
  DispatchSettings,
  LaneSettings,
  OutboxDispatcherOptions,
} from './dispatch/dispatcher-options.ts'
export { InFlightTracker, type InFlightTrackerOptions } from './delivery/in-flight-tracker.ts'
export { OutboxDispatcher } from './dispatch/outbox-dispatcher.ts'
export { Pauses } from './hold/pauses.ts'
export {
  OutboxError,
  type OutboxErrorCode,
  PayloadParseError,
  RecoverableError,
  RetryAfterError,
  UnrecoverableError,
  UnroutableEventError,
} from './errors.ts'
export { type EnvelopeOptions, EventEnvelope } from './event/event-envelope.ts'
export type { EventFields } from './event/event-fields.ts'
export {
  AggregateType,
  type DefinedEvent,
  defineEvent,
  type EventDefinition,
  type EventToWrite,
  type EventType,
  type PlainEventType,
} from './event/event-type.ts'
export { JsonCodec } from './event/json-codec.ts'
export { partitionOf } from './event/partition.ts'
export type { StandardSchema } from './event/standard-schema.ts'
export { EventStatus } from './store/event-status.ts'
export { monotonicUlids } from './event/ulid.ts'
export { type Logger, silentLogger, standardLogger } from './observe/logger.ts'
export {
  type CircuitBreakerState,
  InMemoryMetrics,
  type MetricsExporter,
  noMetrics,
} from './observe/metrics.ts'
export type { TracedSpan, Tracer } from './observe/tracing.ts'
export { OutboxBackend } from './outbox/outbox-backend.ts'
export type {
  OrderedOptions,
  OutboxOptions,
  PartitionedOptions,
  PollerSettings,
  SingleWriterLock,
  SingleWriterOptions,
  WriterOnlyOptions,
} from './outbox/outbox-options.ts'
export { Outbox } from './outbox/outbox.ts'
export { claimSource, type ClaimSourceOptions } from './poll/claim-source.ts'
export { LeaseKeeper, type LeaseKeeperOptions } from './hold/lease-keeper.ts'
export { OutboxPoller, type OutboxPollerHandler, type OutboxPollerOptions } from './poll/outbox-poller.ts'
export type { PendingBatch, PendingSource } from './poll/pending-source.ts'
export type { CircuitBreakerOptions } from './process/circuit-breaker.ts'
export { exponentialBackoff, type ExponentialBackoffOptions } from './retry/exponential-backoff.ts'
export { fixedDelay, type FixedDelayOptions } from './retry/fixed-delay.ts'
export { linearBackoff, type LinearBackoffOptions } from './retry/linear-backoff.ts'
export type { FailedDelivery, PrimaryProcessor, Processor, Processors } from './process/processor.ts'
export type { ErrorFilter, RetryPolicy } from './retry/retry-policy.ts'
export { retrySchedule, type RetryScheduleOptions } from './retry/retry-schedule.ts'
export type { PublishAnswer, PublishContext, Publisher, Routed } from './publisher.ts'
export {
  OutboxPurgeScheduler,
  type OutboxPurgeSchedulerOptions,
  type PurgeOptions,
  type PurgeProgress,
} from './purge/outbox-purge-scheduler.ts'
export { DispatchResult } from './route/dispatch-result.ts'
export { EventInterceptor } from './route/event-interceptor.ts'
export {
  type BatchAnswer,
  type BatchContext,
  type BatchEventListener,
  BoundEventListener,
  type DispatchContext,
  type EventListener,
  type ListenerFunction,
} from './route/event-listener.ts'
export type { Fallback, FinalFailure } from './route/fallback.ts'
export { type ListenerOptions, ListenerRegistry, type Route } from './route/listener-registry.ts'
export type * from './store/index.ts'
export type { SqlTx, TransactionOptions, Transactions } from './transactions.ts'
export { PollerAlarm, type PollerAlarmOptions } from './wake/poller-alarm.ts'
export type { Waker } from './wake/waker.ts'
export { AmbientTransactions, type AmbientTransactionsOptions } from './write/ambient-transactions.ts'
export type { EventWriter } from './write/event-writer.ts'
export type { ColdReason, HotPath, HotSlot } from './write/hot-path.ts'
export { OutboxWriter, type OutboxWriterOptions, type WriteOptions } from './write/outbox-writer.ts'
export type { TxContext } from './write/tx-context.ts'
export type { WriterHook } from './write/writer-hook.ts'
