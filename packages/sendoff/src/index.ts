export type { Clock } from './clock.ts'
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
  defineEvent,
  type DefinedEvent,
  type EventDefinition,
  type EventToWrite,
  type EventType,
  type PlainEventType,
} from './event/event-type.ts'
export { JsonCodec } from './event/json-codec.ts'
export { partitionOf } from './event/partition.ts'
export type { StandardSchema } from './event/standard-schema.ts'
export { EventStatus } from './event/status.ts'
export { monotonicUlids } from './event/ulid.ts'
export { type Logger, silentLogger, standardLogger } from './observe/logger.ts'
export { InMemoryMetrics, type MetricsExporter } from './observe/metrics.ts'
export type { OutboxOptions, OutboxSettings, PollerSettings } from './outbox-options.ts'
export { Outbox } from './outbox.ts'
export { exponentialBackoff, type ExponentialBackoffOptions } from './process/exponential-backoff.ts'
export type { RetryPolicy } from './process/retry-policy.ts'
export { DispatchResult } from './route/dispatch-result.ts'
export {
  BoundEventListener,
  type DispatchContext,
  type EventListener,
  type ListenerFunction,
} from './route/event-listener.ts'
export { ListenerRegistry, type ListenerOptions } from './route/listener-registry.ts'
export type * from './store.ts'
export type { Transactions } from './transactions.ts'
export type { TxContext } from './write/tx-context.ts'
export type { OutboxWriter, WriteOptions } from './write/outbox-writer.ts'
export type { WriterHook } from './write/writer-hook.ts'
