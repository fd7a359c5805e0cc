export type { DeadEventFilter, ReplayOptions } from './dead/dead-event-manager.ts'
export {
  OutboxError,
  type OutboxErrorCode,
  PayloadParseError,
  RecoverableError,
  RetryAfterError,
  UnrecoverableError,
  UnroutableEventError,
} from './errors.ts'
export { EventEnvelope } from './event/event-envelope.ts'
export type { EventFields } from './event/event-fields.ts'
export type { EventMapping } from './event/event-mapping.ts'
export {
  AggregateType,
  type DefinedEvent,
  defineEvent,
  type EventDefinition,
  type EventToWrite,
  type EventType,
} from './event/event-type.ts'
export { JsonCodec } from './event/json-codec.ts'
export type { StandardSchema } from './event/standard-schema.ts'
export { type Logger, silentLogger } from './observe/logger.ts'
export {
  type CircuitBreakerState,
  InMemoryMetrics,
  type MetricsExporter,
  noMetrics,
} from './observe/metrics.ts'
export type {
  OrderedOptions,
  OutboxOptions,
  PartitionedOptions,
  SingleWriterOptions,
  WriterOnlyOptions,
} from './outbox/outbox-options.ts'
export { Outbox } from './outbox/outbox.ts'
export type { WriterOutbox } from './outbox/writer-outbox.ts'
export { exponentialBackoff } from './retry/exponential-backoff.ts'
export { fixedDelay } from './retry/fixed-delay.ts'
export { linearBackoff } from './retry/linear-backoff.ts'
export type { RetryPolicy } from './retry/retry-policy.ts'
export { retrySchedule } from './retry/retry-schedule.ts'
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
export type { DestinationOptions, RoutingOptions, RoutingRule } from './route/routing-options.ts'
export { type ListenerOptions, ListenerRegistry } from './route/listener-registry.ts'
export { EventStatus } from './store/event-status.ts'
export type { BlockedKey, FailedAttempt, PauseTarget, StoredRow } from './store/index.ts'
export type { SqlTx, TransactionOptions, Transactions } from './transactions.ts'
export type { EventWriter } from './write/event-writer.ts'
export type { WriteOptions } from './write/outbox-writer.ts'
export type { WriterHook } from './write/writer-hook.ts'
