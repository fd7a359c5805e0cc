import { dashboardDefaults } from '../../packages/dashboard/src/dashboard-options.ts'
import { serveDashboardDefaults } from '../../packages/dashboard/src/serve/serve-dashboard.ts'
import { moduleDefaults } from '../../packages/nestjs/src/outbox-module-options.ts'
import { defaultOutboxName } from '../../packages/nestjs/src/outbox-tokens.ts'
import { consumerDefaults } from '../../packages/sendoff/src/consumers/consumer-options.ts'
import { kafkaConsumerDefaults } from '../../packages/sendoff/src/consumers/kafka/kafka-consumer.ts'
import { rabbitmqConsumerDefaults } from '../../packages/sendoff/src/consumers/rabbitmq/rabbitmq-consumer.ts'
import { redisStreamsConsumerDefaults } from '../../packages/sendoff/src/consumers/redis-streams/redis-streams-consumer.ts'
import { webhookReceiverDefaults } from '../../packages/sendoff/src/consumers/webhooks/webhook-receiver.ts'
import { replayDefaults } from '../../packages/sendoff/src/dead/dead-event-manager.ts'
import { closeDefaults, dispatchDefaults } from '../../packages/sendoff/src/dispatch/dispatcher-options.ts'
import { inboxDefaults } from '../../packages/sendoff/src/inbox/inbox-options.ts'
import { bounceWebhookDefaults } from '../../packages/sendoff/src/mail/bounce-webhook.ts'
import { failoverDefaults } from '../../packages/sendoff/src/mail/failover-transport.ts'
import { httpMailDefaults } from '../../packages/sendoff/src/mail/http-mail-transport.ts'
import { mailOutboxDefaults } from '../../packages/sendoff/src/mail/mail-outbox-options.ts'
import { mailWorkerDefaults } from '../../packages/sendoff/src/mail/mail-outbox-worker-options.ts'
import { nodemailerDefaults } from '../../packages/sendoff/src/mail/nodemailer-transport.ts'
import {
  blindBusyIntervalMs,
  laneBatches,
  orderedDefaults,
  partitionedDefaults,
  singleWriterDefaults,
} from '../../packages/sendoff/src/modes/mode-defaults.ts'
import { pollerLock } from '../../packages/sendoff/src/modes/named-lock-of.ts'
import { outboxDefaults } from '../../packages/sendoff/src/outbox/outbox-options.ts'
import { healthDefaults } from '../../packages/sendoff/src/observe/health.ts'
import { histogramsDefaults } from '../../packages/sendoff/src/observe/opentelemetry/opentelemetry-histograms.ts'
import { tracingDefaults } from '../../packages/sendoff/src/observe/opentelemetry/opentelemetry-tracing.ts'
import { collectedDefaults } from '../../packages/sendoff/src/observe/collected-metrics.ts'
import { pollerDefaults } from '../../packages/sendoff/src/poll/outbox-poller.ts'
import { circuitBreakerDefaults } from '../../packages/sendoff/src/process/circuit-breaker.ts'
import { httpDefaults } from '../../packages/sendoff/src/publishers/http/http-publisher.ts'
import { kafkaDefaults } from '../../packages/sendoff/src/publishers/kafka/kafka-publisher.ts'
import { publisherDefaults } from '../../packages/sendoff/src/publishers/publisher-options.ts'
import { rabbitmqDefaults } from '../../packages/sendoff/src/publishers/rabbitmq/rabbitmq-publisher.ts'
import { purgeDefaults } from '../../packages/sendoff/src/purge/outbox-purge-scheduler.ts'
import { exponentialBackoffDefaults } from '../../packages/sendoff/src/retry/exponential-backoff.ts'
import { linearBackoffDefaults } from '../../packages/sendoff/src/retry/linear-backoff.ts'
import { jitterDefaults } from '../../packages/sendoff/src/retry/retry-policy.ts'
import { defaultMaxBatchSize } from '../../packages/sendoff/src/route/listener-registry.ts'
import { mysqlDefaults } from '../../packages/sendoff/src/stores/mysql/mysql-store.ts'
import { postgresDefaults } from '../../packages/sendoff/src/stores/postgres/postgres-store.ts'
import { redisDefaults } from '../../packages/sendoff/src/stores/redis/redis-store.ts'
import { sqliteDefaults } from '../../packages/sendoff/src/stores/sqlite/sqlite-store.ts'

/** Defaults of the code, by the option's name, in the form of the page. */
export type Defaults = Readonly<Record<string, unknown>>

const { workerCount, hotQueueCapacity, hotShare, coldQueueCapacity, maxAttempts } = dispatchDefaults
const { maxLosses, listenerTimeoutMs, onUnroutable, unroutableDelayMs } = dispatchDefaults
const { settleFirst, deleteCompleted } = dispatchDefaults
const { enabled, intervalMs, batchSize, maxBatchSize, skipRecentMs } = pollerDefaults
const { idempotencyRetentionMs: mailKeysMs, ...mailWorker } = mailWorkerDefaults
const dayMs = 86_400_000

/** The defaults in the sections of `docs/options.md`, by their headings. */
export const optionDefaults: Readonly<Record<string, Defaults>> = {
  'Every outbox': {
    migrate: outboxDefaults.migrate,
    ...prefixed('purge', purgeDefaults),
    ...prefixed('health', healthDefaults),
  },
  'Outboxes that only write': {},
  'Outboxes that deliver': {
    ...closeDefaults,
    leaseMs: outboxDefaults.leaseMs,
    coldQueueCapacity: `${coldQueueCapacity}; ${partitionedDefaults.coldQueueCapacity} for partitioned`,
    maxAttempts: `${maxAttempts}; ${orderedDefaults.maxAttempts} for ordered`,
    maxLosses,
    listenerTimeoutMs,
    onUnroutable,
    unroutableDelayMs,
    settleFirst,
    deleteCompleted,
    ...prefixed('poller', {
      enabled,
      intervalMs,
      busyIntervalMs: `${blindBusyIntervalMs}, or as intervalMs`,
      batchSize: `${batchSize}; ${singleWriterDefaults.batchSize} for singleWriter; ${laneBatches.batchSize} for ordered and partitioned`,
      maxBatchSize: `${maxBatchSize}; ${laneBatches.maxBatchSize} for ordered and partitioned`,
    }),
  },
  'Outboxes with order per key': { workerCount, onKeyFailure: partitionedDefaults.onKeyFailure },
  'Outboxes with one order': { onFailure: orderedDefaults.onFailure },
  'Outboxes without order': {
    workerCount: `${workerCount}; ${singleWriterDefaults.workerCount} for singleWriter`,
    hotQueueCapacity,
    hotShare,
    ...prefixed('poller', { skipRecentMs }),
  },
  'Outboxes with a single writer': {
    'lock.name': pollerLock,
    ...prefixed('circuitBreaker', circuitBreakerDefaults),
  },
  '`prometheusMetrics`': collectedDefaults,
  '`openTelemetryMetrics`': collectedDefaults,
  '`openTelemetryHistograms`': histogramsDefaults,
  '`openTelemetryTracing`': tracingDefaults,
  '`defineEvent`': {},
  '`register`': { maxBatchSize: defaultMaxBatchSize },
  'Retry policies': {},
  '`exponentialBackoff`': exponentialBackoffDefaults,
  '`linearBackoff`': linearBackoffDefaults,
  '`fixedDelay`': jitterDefaults,
  '`retrySchedule`': jitterDefaults,
  '`replayAll`': replayDefaults,
  '`sqliteStore`': sqliteDefaults,
  '`postgresStore`': postgresDefaults,
  '`mysqlStore`': mysqlDefaults,
  '`redisStore`': redisDefaults,
  '`memoryStore`': {},
  'Every publisher': {
    ...publisherDefaults,
    timeoutMs: `${publisherDefaults.timeoutMs}; ${kafkaDefaults.timeoutMs} for Kafka; ${httpDefaults.timeoutMs} for HTTP`,
  },
  '`kafkaPublisher`': without(kafkaDefaults, 'timeoutMs'),
  '`rabbitmqPublisher`': rabbitmqDefaults,
  '`natsPublisher`': {},
  '`redisStreamsPublisher`': {},
  '`httpPublisher`': without(httpDefaults, 'timeoutMs'),
  '`Inbox`': inboxDefaults,
  'Every consumer': consumerDefaults,
  '`kafkaConsumer`': kafkaConsumerDefaults,
  '`rabbitmqConsumer`': rabbitmqConsumerDefaults,
  '`natsConsumer`': {},
  '`redisStreamsConsumer`': redisStreamsConsumerDefaults,
  '`webhookReceiver`': webhookReceiverDefaults,
  '`OutboxModule`': { ...moduleDefaults, name: defaultOutboxName },
  '`MailOutbox`': mailOutboxDefaults,
  '`MailOutboxWorker`': {
    ...mailWorker,
    ...closeDefaults,
    migrate: outboxDefaults.migrate,
    idempotencyRetentionMs: `${mailKeysMs / dayMs} days, or bodyRetentionMs if longer`,
  },
  '`nodemailerTransport`': nodemailerDefaults,
  '`httpMailTransport`': httpMailDefaults,
  '`fileTransport`': {},
  '`logTransport`': {},
  '`failoverTransport`': failoverDefaults,
  '`KeyRing`': {},
  '`bounceWebhook`': bounceWebhookDefaults,
  '`SuppressionList`': {},
  '`dashboard`': dashboardDefaults,
  '`serveDashboard`': serveDashboardDefaults,
  '`tokenAuthorize`': {},
}

function prefixed(group: string, defaults: Defaults): Defaults {
  return Object.fromEntries(Object.entries(defaults).map(([name, value]) => [`${group}.${name}`, value]))
}

function without(defaults: Defaults, left: string): Defaults {
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => name !== left))
}

/**
 * Returns a table cell in the form of a value in the code: without quotes, thousands separators and remarks
 * in brackets.
 */
export function plainCell(cell: string): string {
  return cell
    .replaceAll(/[`']/g, '')
    .replaceAll(/(?<=\d),(?=\d{3})/g, '')
    .replace(/ *\(.*\)$/, '')
}

/** Returns whether a cell holds a value, rather than words about it. */
export function isValue(cell: string): boolean {
  return /^`?('|\d|true\b|false\b)/.test(cell)
}
