import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { Admin, Producer } from '@platformatic/kafka'
import { type ICustomPartitioner, Kafka, logLevel, Partitioners } from 'kafkajs'
import pg from 'pg'
import {
  EventEnvelope,
  EventStatus,
  ListenerRegistry,
  noMetrics,
  Outbox,
  type Publisher,
} from '../../packages/sendoff/src/index.ts'
import {
  type KafkaProducer,
  kafkaPublisher,
  pinnedPartitions,
} from '../../packages/sendoff/src/publishers/kafka/index.ts'
import { postgresStore } from '../../packages/sendoff/src/stores/postgres/index.ts'
import { publishUntilDone } from '../../packages/sendoff/src/testing/publisher-checks/publish-steps.ts'
import {
  type ConsumedMessage,
  consumeTopic,
  makeTopic,
} from '../../packages/sendoff/test/publishers/kafka/kafka-topics.ts'
import { bootstrapBrokers, type KafkaCluster, kafkaCluster } from '../services/kafka-cluster.ts'
import { type TemporaryFolder, temporaryFolder } from '../services/temporary-folder.ts'
import { scale } from './scale.ts'

const eventCount = scale({ small: 2_000, full: 20_000 })
const keyCount = 100

interface OpenProducer {
  readonly producer: KafkaProducer
  close(): Promise<void>
}

type OpenClient = (brokers: string[]) => Promise<OpenProducer>

const platformatic: OpenClient = (bootstrapBrokers) => {
  const producer = new Producer({ clientId: 'relay', bootstrapBrokers, retries: 3, retryDelay: 200 })
  return Promise.resolve({ producer, close: () => producer.close() })
}

function kafkajs(createPartitioner: ICustomPartitioner): OpenClient {
  return async (brokers) => {
    const kafka = new Kafka({ clientId: 'relay', brokers, logLevel: logLevel.NOTHING })
    const producer = kafka.producer({ createPartitioner })
    await producer.connect()
    return { producer, close: () => producer.disconnect() }
  }
}

const clients: Readonly<Record<string, OpenClient>> = {
  '@platformatic/kafka': platformatic,
  kafkajs: kafkajs(pinnedPartitions(Partitioners.DefaultPartitioner)),
  'kafkajs without pinned partitions': kafkajs(Partitioners.DefaultPartitioner),
}

describe('three Kafka brokers, the leader killed and brought back during a relay', () => {
  let folder: TemporaryFolder
  let cluster: KafkaCluster
  let opened: OpenProducer | undefined
  let relays = 0
  const open = async (client: OpenClient): Promise<KafkaProducer> => {
    opened = await client(bootstrapBrokers(cluster.url))
    return opened.producer
  }

  before(async () => {
    folder = temporaryFolder('failover')
    cluster = await kafkaCluster(folder.path, 3)
  })
  afterEach(async () => {
    await opened?.close().catch(() => {})
    opened = undefined
  })
  after(async () => {
    await cluster.kill()
    folder.remove()
  })

  for (const [name, client] of Object.entries(clients)) {
    it(`${name}: every event that is DONE in PostgreSQL can be read, and the order of every key is kept`, async () => {
      const topic = await makeTopic(cluster.url, `relayed-${name.replace(/\W/g, '')}`, 6)
      const failover = new Failover(cluster, topic, eventCount)
      const done = Promise.withResolvers<void>()
      let successes = 0
      const database = new pg.Pool({ connectionString: process.env['POSTGRES_URL']! })
      const table = `failover_${process.pid}_${++relays}`
      const publisher = kafkaPublisher({
        producer: await open(client),
        topic,
        logger: false,
        retryAfterMs: 200,
        maxRetryAfterMs: 1_000,
      })
      const outbox = await Outbox.partitioned({
        store: postgresStore({ client: database, table }),
        listeners: new ListenerRegistry().registerDefault(failover.watching(publisher), {
          maxBatchSize: 100,
        }),
        metrics: {
          ...noMetrics,
          incrementDispatchSuccess() {
            if (++successes === eventCount) done.resolve()
          },
        },
        logger: false,
      }).start()

      const ids: string[] = []
      for (let number = 0; number < eventCount; number += 100) {
        await outbox.transaction(async () => {
          for (let each = number; each < number + 100; each++) {
            const orderingKey = `key-${each % keyCount}`
            ids.push((await outbox.write('Relayed', { number: each }, { orderingKey }))!)
          }
        })
      }
      await done.promise
      await failover.ended()
      const messages = await consumeTopic(cluster.url, topic)
      const { rows } = await database.query<{ event_id: string; status: number; attempts: number }>(
        `select event_id, status, attempts from ${table}`,
      )
      await outbox.close()
      await database.query(`drop table ${table} cascade`)
      await database.end()

      const read = new Set(messages.map(idOf))
      const doneRows = rows.filter(({ status }) => status === EventStatus.DONE)
      deepEqual(
        doneRows.map(({ event_id: id }) => id).filter((id) => !read.has(id)),
        [],
        'events that are DONE and cannot be read',
      )
      equal(doneRows.filter(({ attempts }) => attempts === 0).length, eventCount)
      deepEqual([...read].sort(), ids.toSorted())
      requireOrder(
        messages,
        ids.map((eventId, number) => ({ eventId, key: `key-${number % keyCount}` })),
      )
    })
  }

  it('keeps the order of every key in batches', async () => {
    const topic = await makeTopic(cluster.url, 'batched', 6)
    const failover = new Failover(cluster, topic, eventCount)
    const events = Array.from({ length: eventCount }, (_, number) =>
      EventEnvelope.of({
        eventType: 'Relayed',
        payloadJson: String(number),
        orderingKey: `key-${number % keyCount}`,
      }),
    )
    const publisher = kafkaPublisher({
      producer: await open(platformatic),
      topic,
      logger: false,
      retryAfterMs: 200,
      maxRetryAfterMs: 1_000,
    })
    await publishUntilDone(failover.watching(publisher), events)
    await failover.ended()
    requireOrder(
      await consumeTopic(cluster.url, topic),
      events.map(({ eventId, orderingKey }) => ({ eventId, key: orderingKey! })),
    )
  })
})

/** Kills the leader of a partition when a quarter of all events is acknowledged, and brings it back at the half. */
class Failover {
  readonly #cluster: KafkaCluster
  readonly #topic: string
  readonly #eventCount: number
  #acknowledged = 0
  #killed: Promise<number> | undefined
  #back: Promise<void> | undefined

  constructor(cluster: KafkaCluster, topic: string, eventCount: number) {
    this.#cluster = cluster
    this.#topic = topic
    this.#eventCount = eventCount
  }

  /** The same publisher, its acknowledgements counted. */
  watching(publisher: Publisher): Publisher {
    return {
      onEvents: async (events, context) => {
        const answers = await publisher.onEvents(events, context)
        this.#acknowledged += answers.filter((answer) => 'kind' in answer && answer.kind === 'done').length
        if (this.#acknowledged >= this.#eventCount / 4) this.#killed ??= this.#killLeader()
        if (this.#acknowledged >= this.#eventCount / 2) this.#back ??= this.#bringBack()
        return answers
      },
    }
  }

  /** It must have happened, and be over. */
  async ended(): Promise<void> {
    ok(this.#back, 'no broker was killed')
    await this.#back
  }

  async #killLeader(): Promise<number> {
    const admin = new Admin({ clientId: 'failover', bootstrapBrokers: bootstrapBrokers(this.#cluster.url) })
    const { topics } = await admin.metadata({ topics: [this.#topic] })
    const { leader } = topics.get(this.#topic)!.partitions[0]!
    await admin.close()
    await this.#cluster.brokers[leader]!.kill()
    return leader
  }

  async #bringBack(): Promise<void> {
    const leader = await this.#killed!
    await this.#cluster.brokers[leader]!.start()
  }
}

function idOf({ headers }: ConsumedMessage): string {
  return headers['event-id']!
}

/** Every event must be there, and the first copies of each key in the order in which they were written. */
function requireOrder(
  messages: readonly ConsumedMessage[],
  written: readonly { readonly eventId: string; readonly key: string }[],
): void {
  equal(new Set(messages.map(idOf)).size, written.length)
  const byKey = Map.groupBy(written, ({ key }) => key)
  const consumedByKey = Map.groupBy(messages, ({ key }) => key)
  for (const [key, events] of byKey) {
    const ids = [...new Set(consumedByKey.get(key)!.map(idOf))]
    deepEqual(
      ids,
      events.map(({ eventId }) => eventId),
      `key ${key}`,
    )
  }
}
