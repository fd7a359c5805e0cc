export { InjectOutbox } from './inject-outbox.ts'
export { outboxContextType } from './listener-context.ts'
export type { OutboxRequest } from './listener-instances.ts'
export type {
  CircuitBreakerConfig,
  ClaimLockingConfig,
  ConfigDuration,
  ConfigFlag,
  ConfigNumber,
  DispatcherConfig,
  HealthConfig,
  LockConfig,
  MetricsConfig,
  OutboxConfig,
  PollerConfig,
  PurgeConfig,
  RetryConfig,
} from './outbox-config.ts'
export { OutboxFallback, type OutboxFallbackDecorator } from './outbox-fallback.ts'
export {
  OutboxHealthIndicator,
  type OutboxHealthOptions,
  type OutboxHealthResult,
} from './outbox-health-indicator.ts'
export {
  OutboxListener,
  type OutboxListenerAddress,
  type OutboxListenerDecorator,
  type OutboxListenerOptions,
} from './outbox-listener.ts'
export type { OutboxModeName } from './outbox-mode.ts'
export { OutboxModule } from './outbox-module.ts'
export type {
  InMode,
  ModuleSettings,
  OutboxModuleAsyncOptions,
  OutboxModuleOptions,
  OutboxModuleScope,
  OutboxOptionsFactory,
} from './outbox-module-options.ts'
export { OutboxRetryable } from './outbox-retryable.ts'
export {
  getListenerRegistryToken,
  getOutboxOptionsToken,
  getOutboxToken,
  OUTBOX_METRICS_REGISTRY,
} from './outbox-tokens.ts'
export {
  OutboxTransactionalAdapter,
  type OutboxTransactionalAdapterOptions,
} from './outbox-transactional-adapter.ts'
export { type OutboxWorker, OutboxWorkerModule, type OutboxWorkerOptions } from './outbox-worker-module.ts'
export type { ConfigReader } from './read-config.ts'
export type { ResolvedOptions } from './resolve-options.ts'
