import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Producer } from '@platformatic/kafka'
import { type ICustomPartitioner, Kafka, logLevel, Partitioners } from 'kafkajs'
import pg from 'pg'
import {
  EventEnvelope,
  EventStatus,
  ListenerRegistry,
  noMetrics,
  Outbox,
} from '../../../packages/sendoff/src/index.ts'
import type { Publisher } from '../../../packages/sendoff/src/parts.ts'
import {
  type KafkaProducer,
  kafkaPublisher,
  pinnedPartitions,
} from '../../../packages/sendoff/src/publishers/kafka/index.ts'
import { postgresStore } from '../../../packages/sendoff/src/stores/postgres/index.ts'
import { publishUntilDone } from '../../../packages/sendoff/src/testing/publisher-checks/publish-steps.ts'
import {
  confluentIsMissing,
  confluentPackage,
  openConfluent,
} from '../../../packages/sendoff/test/publishers/kafka/confluent-client.ts'
import {
  type ConsumedMessage,
  consumeTopic,
  makeTopic,
} from '../../../packages/sendoff/test/publishers/kafka/kafka-topics.ts'
import {
  bootstrapBrokers,
  type KafkaCluster,
  kafkaCluster,
} from '../../services/servers/kafka/kafka-cluster.ts'
import type { PrivateServer } from '../../services/servers/private-server.ts'
import { type TemporaryFolder, temporaryFolder } from '../../services/machine/temporary-folder.ts'
import { scale } from '../run/scale.ts'

const eventCount = scale({ small: 2_000, full: 20_000 })
const keyCount = 100

interface OpenProducer {
  readonly producer: KafkaProducer
  close(): Promise<void>
}

type OpenClient = (url: string) => Promise<OpenProducer>

function platformatic(idempotent: boolean): OpenClient {
  return (url) => {
    const producer = new Producer({
      clientId: 'relay',
      bootstrapBrokers: bootstrapBrokers(url),
      idempotent,
      retries: 3,
      retryDelay: 200,
    })
    return Promise.resolve({ producer, close: () => producer.close() })
  }
}

function kafkajs(createPartitioner: ICustomPartitioner): OpenClient {
  return async (url) => {
    const brokers = bootstrapBrokers(url)
    const kafka = new Kafka({ clientId: 'relay', brokers, logLevel: logLevel.NOTHING })
    const producer = kafka.producer({ createPartitioner })
    await producer.connect()
    return { producer, close: () => producer.disconnect() }
  }
}

function confluent(options: object): OpenClient {
  return (url) => openConfluent(url, { acks: -1, ...options })
}

const everywhere: Readonly<Record<string, OpenClient>> = {
  '@platformatic/kafka, idempotent': platformatic(true),
  '@platformatic/kafka': platformatic(false),
  kafkajs: kafkajs(pinnedPartitions(Partitioners.DefaultPartitioner)),
  'kafkajs without pinned partitions': kafkajs(Partitioners.DefaultPartitioner),
}

const whereInstalled: Readonly<Record<string, OpenClient>> = {
  [`${confluentPackage}, idempotent`]: confluent({ idempotent: true }),
  [confluentPackage]: confluent({ idempotent: false }),
}

const clients = confluentIsMissing ? everywhere : { ...everywhere, ...whereInstalled }

const promise = 'every event that is DONE in PostgreSQL can be read, and the order of every key is kept'

describe('three Kafka brokers, a leader killed and brought back during relays', { concurrency: true }, () => {
  let folder: TemporaryFolder
  let cluster: KafkaCluster
  let failover: Failover

  before(async () => {
    folder = temporaryFolder('failover')
    cluster = await kafkaCluster(folder.path, 3)
    failover = new Failover(cluster.brokers[0]!, Object.keys(clients).length + 1)
  })
  after(async () => {
    await cluster.kill()
    folder.remove()
  })

  for (const [index, [name, client]] of Object.entries(clients).entries()) {
    it(`${name}: ${promise}`, async () => {
      const topic = await makeTopic(cluster.url, `relayed-${index}`, 6)
      const open = await client(cluster.url)
      const done = Promise.withResolvers<void>()
      let successes = 0
      const database = new pg.Pool({ connectionString: process.env['POSTGRES_URL']! })
      const table = `failover_${process.pid}_${index}`
      const publisher = kafkaPublisher({ producer: open.producer, topic, ...quickReturn })
      const outbox = await Outbox.partitioned({
        store: postgresStore({ client: database, table }),
        listeners: new ListenerRegistry().registerDefault(failover.during(publisher), { maxBatchSize: 100 }),
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
            ids.push(await outbox.write('Relayed', { number: each }, { orderingKey }))
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
      await open.close().catch(() => {})

      const read = new Set(messages.map(idOf))
      const doneRows = rows.filter(({ status }) => status === EventStatus.DONE)
      const missing = doneRows.filter(({ event_id: id }) => !read.has(id))
      equal(missing.length, 0, `${missing.length} of ${doneRows.length} events are DONE and cannot be read`)
      equal(doneRows.filter(({ attempts }) => attempts === 0).length, eventCount)
      requireOrder(
        messages,
        ids.map((eventId, number) => ({ eventId, key: `key-${number % keyCount}` })),
      )
    })
  }

  if (confluentIsMissing) {
    for (const name in whereInstalled) it(`${name}: ${promise}`, { skip: confluentIsMissing }, () => {})
  }

  it('keeps the order of every key in batches', async () => {
    const topic = await makeTopic(cluster.url, 'batched', 6)
    const open = await platformatic(true)(cluster.url)
    const events = Array.from({ length: eventCount }, (_, number) =>
      EventEnvelope.of({
        eventType: 'Relayed',
        payloadJson: String(number),
        orderingKey: `key-${number % keyCount}`,
      }),
    )
    const publisher = kafkaPublisher({ producer: open.producer, topic, ...quickReturn })
    await publishUntilDone(failover.during(publisher), events)
    await failover.ended()
    await open.close().catch(() => {})
    requireOrder(
      await consumeTopic(cluster.url, topic),
      events.map(({ eventId, orderingKey }) => ({ eventId, key: orderingKey! })),
    )
  })
})

const quickReturn = { logger: false, retryAfterMs: 200, maxRetryAfterMs: 1_000 } as const

/**
 * Kills a broker when every relay has a quarter of its events acknowledged, and starts it again when one
 * relay has half. Each topic has twice as many partitions as there are brokers, so that the broker leads some
 * of each.
 */
class Failover {
  readonly #broker: PrivateServer
  readonly #allThere = Promise.withResolvers<void>()
  #missing: number
  #killed: Promise<void> | undefined
  #back: Promise<void> | undefined

  constructor(broker: PrivateServer, relays: number) {
    this.#broker = broker
    this.#missing = relays
  }

  /** Returns the same publisher, which waits at a quarter of its events until all relays are there. */
  during(publisher: Publisher): Publisher {
    let acknowledged = 0
    let isThere = false
    return {
      onEvents: async (events, context) => {
        if (isThere) await this.#allThere.promise
        const answers = await publisher.onEvents(events, context)
        acknowledged += answers.filter((answer) => 'kind' in answer && answer.kind === 'done').length
        if (!isThere && acknowledged >= eventCount / 4) {
          isThere = true
          this.#arrive()
        }
        if (acknowledged >= eventCount / 2) this.#back ??= this.#bringBack()
        return answers
      },
    }
  }

  /** Requires that the failover happened and is over. */
  async ended(): Promise<void> {
    ok(this.#back, 'no broker was killed')
    await this.#back
  }

  #arrive(): void {
    if (--this.#missing > 0) return
    this.#allThere.resolve()
    this.#killed = this.#broker.kill()
  }

  async #bringBack(): Promise<void> {
    await this.#allThere.promise
    await this.#killed
    await this.#broker.start()
  }
}

function idOf({ headers }: ConsumedMessage): string {
  return headers['event-id']!
}

/** Requires that every event is there, and the first copies of each key in write order. */
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
