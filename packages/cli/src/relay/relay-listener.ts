import type { BatchEventListener, EventListener } from 'sendoff'
import type { Logger } from 'sendoff'
import type { AmqplibConnection, RabbitmqClientConnection } from 'sendoff/rabbitmq'
import type { KafkajsProducer, PlatformaticProducer } from 'sendoff/kafka'
import type { NatsJetStream } from 'sendoff/nats'
import { usageError } from '../command-error.ts'
import { requirePackage } from '../open-store/load-package.ts'
import { openRedis } from '../open-store/redis-client.ts'
import type {
  KafkaTarget,
  NatsTarget,
  RabbitmqTarget,
  RedisStreamsTarget,
  RelayTarget,
} from './relay-config.ts'

/** A listener that sends to a target, and the clients that were opened for it. */
export interface RelayListener {
  readonly listener: EventListener | BatchEventListener
  /** Closes the clients. Called after the outbox is closed. */
  close(): Promise<void>
}

/** Connects to a target, with the client that is installed. */
export async function openRelayListener(target: RelayTarget, logger: Logger): Promise<RelayListener> {
  if ('listener' in target) return { listener: target.listener, close: async () => {} }
  if ('http' in target) {
    const { httpPublisher } = await import('sendoff/http')
    return { listener: httpPublisher({ logger, ...target.http }), close: async () => {} }
  }
  if ('kafka' in target) return openKafka(target.kafka, logger)
  if ('rabbitmq' in target) return openRabbitmq(target.rabbitmq, logger)
  if ('nats' in target) return openNats(target.nats, logger)
  if ('redisStreams' in target) return openRedisStreams(target.redisStreams, logger)
  if ('mail' in target)
    throw usageError(
      'Mails cannot be one destination of several: give them a relay and a table of their own.',
    )
  throw usageError(`The relay knows no target "${Object.keys(target).join(', ')}". See docs/command-line.md.`)
}

async function openKafka(target: KafkaTarget, logger: Logger): Promise<RelayListener> {
  const { brokers, clientId = 'sendoff-relay', client = {}, ...options } = target
  const { kafkaPublisher, pinnedPartitions } = await import('sendoff/kafka')
  const { name, module } = requirePackage('Kafka', ['@platformatic/kafka', 'kafkajs'])
  if (name === '@platformatic/kafka') {
    const { Producer } = module as {
      readonly Producer: new (options: object) => PlatformaticProducer & { close(): Promise<void> }
    }
    // An idempotent producer of this client retries for ever, unless it has a limit.
    const producer = new Producer({
      clientId,
      bootstrapBrokers: [...brokers],
      idempotent: true,
      retries: 3,
      retryDelay: 200,
      ...client,
    })
    return { listener: kafkaPublisher({ logger, ...options, producer }), close: () => producer.close() }
  }
  const { Kafka, Partitioners, logLevel } = module as KafkajsModule
  const kafka = new Kafka({ clientId, brokers: [...brokers], logLevel: logLevel.NOTHING, ...client })
  const producer = kafka.producer({
    createPartitioner: pinnedPartitions(Partitioners.DefaultPartitioner as never),
  })
  await producer.connect()
  return { listener: kafkaPublisher({ logger, ...options, producer }), close: () => producer.disconnect() }
}

interface KafkajsModule {
  readonly Kafka: new (options: object) => {
    producer(options: object): KafkajsProducer & { disconnect(): Promise<void> }
  }
  readonly Partitioners: { readonly DefaultPartitioner: unknown }
  readonly logLevel: { readonly NOTHING: number }
}

async function openRabbitmq({ url, ...options }: RabbitmqTarget, logger: Logger): Promise<RelayListener> {
  const { rabbitmqPublisher } = await import('sendoff/rabbitmq')
  const { name, module } = requirePackage('RabbitMQ', ['rabbitmq-client', 'amqplib'])
  if (name === 'rabbitmq-client') {
    const { Connection } = module as { readonly Connection: new (url: string) => RabbitmqConnection }
    const connection = new Connection(url)
    // The client reconnects by itself, and the publisher reports the outage.
    connection.on('error', () => {})
    const listener = rabbitmqPublisher({ logger, ...options, connection })
    return {
      listener,
      async close() {
        await listener.close()
        await connection.close()
      },
    }
  }
  const { connect } = module as { readonly connect: (url: string) => Promise<AmqplibConnection> }
  const listener = rabbitmqPublisher({ logger, ...options, connection: () => connect(url) })
  return { listener, close: () => listener.close() }
}

interface RabbitmqConnection extends RabbitmqClientConnection {
  on(event: 'error', listener: (error: unknown) => void): unknown
  close(): Promise<void>
}

async function openNats(
  { servers, client = {}, ...options }: NatsTarget,
  logger: Logger,
): Promise<RelayListener> {
  const { natsPublisher } = await import('sendoff/nats')
  const { connect } = requirePackage('NATS', ['@nats-io/transport-node']).module as {
    readonly connect: (options: object) => Promise<{ drain(): Promise<void> }>
  }
  const { jetstream } = requirePackage('NATS JetStream', ['@nats-io/jetstream']).module as {
    readonly jetstream: (connection: object) => NatsJetStream
  }
  const connection = await connect({
    ...natsAddresses([servers].flat()),
    name: 'sendoff-relay',
    maxReconnectAttempts: -1,
    ...client,
  })
  return {
    listener: natsPublisher({ logger, ...options, jetstream: jetstream(connection) }),
    close: () => connection.drain(),
  }
}

// The client takes user and password as options, and not in the address.
function natsAddresses(servers: readonly string[]): object {
  const urls = servers.map((server) => new URL(server.includes('://') ? server : `nats://${server}`))
  const { username = '', password = '' } = urls[0] ?? {}
  return {
    servers: urls.map(({ host }) => host),
    ...(username !== '' && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
  }
}

async function openRedisStreams(
  { url, ...options }: RedisStreamsTarget,
  logger: Logger,
): Promise<RelayListener> {
  const { redisStreamsPublisher } = await import('sendoff/redis-streams')
  const { client, connect, close } = openRedis(new URL(url))
  await connect()
  return { listener: redisStreamsPublisher({ logger, ...options, client: client as never }), close }
}
