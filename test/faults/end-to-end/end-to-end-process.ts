// A process of an end-to-end run: `node end-to-end-process.ts SETTINGS`, settings being `ProcessSettings` in
// JSON. Prints `ready`, and runs until it is killed. A fault that it should survive must not end it.
import { setTimeout as delay } from 'node:timers/promises'
import { Producer } from '@platformatic/kafka'
import { connect } from 'amqplib'
import pg from 'pg'
import { kafkaConsumer } from '../../../packages/sendoff/src/consumers/kafka/index.ts'
import { rabbitmqConsumer } from '../../../packages/sendoff/src/consumers/rabbitmq/index.ts'
import type { ConsumerOptions, MessageConsumer } from '../../../packages/sendoff/src/consumers/shared.ts'
import { Inbox } from '../../../packages/sendoff/src/inbox/index.ts'
import { ListenerRegistry, Outbox } from '../../../packages/sendoff/src/index.ts'
import type { Publisher } from '../../../packages/sendoff/src/publisher.ts'
import { kafkaPublisher } from '../../../packages/sendoff/src/publishers/kafka/index.ts'
import { rabbitmqPublisher } from '../../../packages/sendoff/src/publishers/rabbitmq/index.ts'
import { postgresStore } from '../../../packages/sendoff/src/stores/postgres/index.ts'
import { platformaticConsumer } from '../../../packages/sendoff/test/consumers/kafka/platformatic-broker.ts'
import { bootstrapBrokers } from '../../services/servers/kafka/kafka-cluster.ts'

export interface ProcessSettings {
  /** A writer also delivers, as a worker does. */
  readonly role: 'writer' | 'worker' | 'consumer'
  readonly broker: BrokerKind
  readonly brokerUrl: string
  /** A topic or a queue. */
  readonly destination: string
  /** The database of the orders, or of the effects. */
  readonly databaseUrl: string
  readonly events: number
  readonly keys: number
}

export type BrokerKind = 'kafka' | 'rabbitmq'

const settings = JSON.parse(process.argv[2]!) as ProcessSettings
const { role, brokerUrl, destination } = settings
const client = new pg.Pool({
  connectionString: settings.databaseUrl,
  max: 10,
  connectionTimeoutMillis: 2_000,
})
const store = postgresStore({ client })

if (role === 'consumer') await consume()
else await deliver()

async function consume(): Promise<void> {
  const outbox = await started(() => Outbox.writerOnly({ store, migrate: false, logger: false }).start())
  const options: ConsumerOptions<pg.PoolClient> = {
    inbox: new Inbox({ outbox, consumer: 'billing' }),
    async handler({ id, payload }, tx) {
      const { key, number } = payload as Placed
      await tx.query('insert into effects (event_id, key, number) values ($1, $2, $3)', [id, key, number])
    },
    logger: false,
  }
  const consumer = consumerOf(options)
  await started(() => consumer.start())
  console.log('ready')
}

async function deliver(): Promise<void> {
  const outbox = await started(() =>
    Outbox.partitioned({
      store,
      listeners: new ListenerRegistry().registerDefault(publisherOf(), { maxBatchSize: 50 }),
      leaseMs: 2_000,
      migrate: false,
      logger: false,
    }).start(),
  )
  console.log('ready')
  if (role === 'writer') await write(outbox)
}

interface Placed {
  readonly key: string
  readonly number: number
}

/** Writes what is missing. The table of orders says what is there, also after a commit without an answer. */
async function write(outbox: Pick<Outbox<pg.PoolClient>, 'transaction' | 'write'>): Promise<void> {
  for (;;) {
    try {
      const { rows } = await client.query<{ next: number }>(
        'select coalesce(max(number), -1) + 1 as next from orders',
      )
      const { next } = rows[0]!
      if (next >= settings.events) return
      await outbox.transaction(async (tx) => {
        for (let number = next; number < Math.min(next + 5, settings.events); number += 1) {
          const key = `key-${number % settings.keys}`
          const id = await outbox.write('OrderPlaced', { key, number }, { orderingKey: key })
          await tx.query('insert into orders (event_id, key, number) values ($1, $2, $3)', [id, key, number])
        }
      })
    } catch {
      await delay(100)
    }
  }
}

/** Starts, and again until it succeeds: the server may be down. */
async function started<Started>(start: () => Promise<Started>): Promise<Started> {
  for (;;) {
    try {
      return await start()
    } catch (error) {
      console.error('The start failed:', error)
      await delay(200)
    }
  }
}

function publisherOf(): Publisher {
  const quickReturn = { logger: false, retryAfterMs: 200, maxRetryAfterMs: 1_000 } as const
  if (settings.broker === 'rabbitmq') {
    return rabbitmqPublisher({
      connection: () => connect(brokerUrl),
      routingKey: destination,
      ...quickReturn,
    })
  }
  const producer = new Producer({
    clientId: 'shop',
    bootstrapBrokers: bootstrapBrokers(brokerUrl),
    idempotent: true,
    retries: 3,
    retryDelay: 200,
  })
  return kafkaPublisher({ producer, topic: destination, ...quickReturn })
}

function consumerOf(options: ConsumerOptions<pg.PoolClient>): MessageConsumer {
  if (settings.broker === 'rabbitmq') {
    return rabbitmqConsumer({ connection: () => connect(brokerUrl), queue: destination, ...options })
  }
  const consumer = platformaticConsumer(brokerUrl, destination)
  return kafkaConsumer({ consumer, topics: [destination], ...options })
}
