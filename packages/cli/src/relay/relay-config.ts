import type {
  BatchEventListener,
  EventListener,
  OrderedOptions,
  OutboxOptions,
  PartitionedOptions,
  SingleWriterOptions,
} from 'sendoff'
import type { HttpPublisherOptions } from 'sendoff/http'
import type { KafkaPublisherOptions } from 'sendoff/kafka'
import type { MailOutboxOptions, MailOutboxWorkerOptions } from 'sendoff/mail'
import type { NatsPublisherOptions } from 'sendoff/nats'
import type { RabbitmqPublisherOptions } from 'sendoff/rabbitmq'
import type { RedisStreamsPublisherOptions } from 'sendoff/redis-streams'

/** The worker that `sendoff relay` runs. */
export interface RelayConfig {
  /** Where events go: an address such as `kafka://localhost:9092/orders`, or a target with its options. */
  readonly to?: string | RelayTarget
  /** Where events of each destination of a routing go, by name. */
  readonly destinations?: Readonly<Record<string, string | RelayTarget>>
  /** The mode of the table. Default: `multiNode`. */
  readonly mode?: RelayMode
  /**
   * The events that the relay takes: `Order/OrderPlaced` by aggregate type and type, `Ping` without an
   * aggregate type. It leaves all others alone. Default: all.
   */
  readonly types?: readonly string[]
  /**
   * How many events one request to the broker has at most. Default: 100; in mode `ordered` 1, because a
   * publisher keeps only the order of each key within a batch.
   */
  readonly maxBatchSize?: number
  /** Options of the outbox, such as `workerCount`, `maxAttempts`, `purge` or `routing`. */
  readonly outbox?: RelayOutboxOptions
  /** The address on which the relay serves its health and its metrics. Default: `127.0.0.1`. */
  readonly host?: string
  /** The port of the same; 0 for any free one. Default: 9464. */
  readonly port?: number
}

/** Options of the outbox of a relay. Some of them belong to one mode. */
export type RelayOutboxOptions = Omit<
  OutboxOptions<unknown, unknown>,
  'store' | 'listeners' | 'metrics' | 'transactions'
> &
  Pick<OrderedOptions<unknown, unknown>, 'onFailure'> &
  Pick<PartitionedOptions<unknown, unknown>, 'onKeyFailure'> &
  Pick<SingleWriterOptions<unknown, unknown>, 'lock' | 'circuitBreaker'>

/** The modes in which a relay can deliver. */
export const relayModes = ['multiNode', 'singleNode', 'singleWriter', 'partitioned', 'ordered'] as const

/** One of these modes. */
export type RelayMode = (typeof relayModes)[number]

/** Where a relay sends events. */
export type RelayTarget =
  | { readonly kafka: KafkaTarget }
  | { readonly rabbitmq: RabbitmqTarget }
  | { readonly nats: NatsTarget }
  | { readonly redisStreams: RedisStreamsTarget }
  | { readonly http: HttpPublisherOptions }
  | { readonly mail: MailTarget }
  | { readonly listener: EventListener | BatchEventListener }

/** Kafka, by `@platformatic/kafka` or `kafkajs`. */
export interface KafkaTarget extends Omit<KafkaPublisherOptions, 'producer'> {
  /** Addresses of brokers, each with its port. */
  readonly brokers: readonly string[]
  /** Default: `sendoff-relay`. */
  readonly clientId?: string
  /** More options for the producer of `@platformatic/kafka`, or for the client of `kafkajs`: TLS, SASL. */
  readonly client?: object
}

/** RabbitMQ, by `rabbitmq-client` or `amqplib`. */
export interface RabbitmqTarget extends Omit<RabbitmqPublisherOptions, 'connection'> {
  /** The address of the broker: `amqp://user:password@host:5672/vhost`. */
  readonly url: string
}

/** NATS JetStream, by `@nats-io/transport-node` and `@nats-io/jetstream`. */
export interface NatsTarget extends Omit<NatsPublisherOptions, 'jetstream'> {
  readonly servers: string | readonly string[]
  /** More options for `connect()`: TLS, credentials. */
  readonly client?: object
}

/** Redis Streams, by `ioredis` or `redis`. */
export interface RedisStreamsTarget extends Omit<RedisStreamsPublisherOptions, 'client'> {
  /** The address of the server: `redis://host:6379`. */
  readonly url: string
}

/** Mails of a mail outbox in the table, sent by SMTP through nodemailer, or by transports of your own. */
export interface MailTarget
  extends
    Omit<MailOutboxWorkerOptions<unknown, unknown>, 'outbox' | 'transports' | 'metrics' | 'logger' | 'clock'>,
    Pick<MailOutboxOptions<unknown, unknown>, 'keyRing' | 'encryptedOnly' | 'render' | 'resolveAttachment'> {
  /** The address of the server: `smtps://user:password@mail.example.com`. */
  readonly smtp?: string
  /** Transports by provider, in place of `smtp`. */
  readonly transports?: MailOutboxWorkerOptions<unknown, unknown>['transports']
}
