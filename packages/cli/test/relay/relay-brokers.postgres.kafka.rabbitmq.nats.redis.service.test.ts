import { deepEqual, equal } from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { bootstrapBrokers } from '../../../../test/services/servers/kafka/kafka-cluster.ts'
import { consumeTopic, makeTopic } from '../../../sendoff/test/publishers/kafka/kafka-topics.ts'
import { NatsStreams } from '../../../sendoff/test/publishers/nats/nats-streams.ts'
import { makeQueue, queuedMessages } from '../../../sendoff/test/publishers/rabbitmq/rabbitmq-queues.ts'
import { storedInStream } from '../../../sendoff/test/publishers/redis-streams/stored-in-stream.ts'
import { RunningCall, sendoffJson } from '../run-sendoff.ts'
import { outboxAt, writePending } from '../tested-outbox.ts'

const name = `cli_relay_${process.pid}`
const address = new URL(process.env['POSTGRES_URL']!)
const pool = new pg.Pool({ connectionString: address.href, max: 1 })
address.pathname = name

interface Stored {
  readonly headers: Readonly<Record<string, string | undefined>>
}

describe('the relay from PostgreSQL', () => {
  before(() => pool.query(`create database ${name}`))
  after(async () => {
    await pool.query(`drop database ${name} with (force)`)
    await pool.end()
  })

  it('to Kafka', async () => {
    const url = process.env['KAFKA_URL']!
    await makeTopic(url, name)
    await delivers('kafka_outbox', `kafka://${bootstrapBrokers(url).join(',')}/${name}`, () =>
      consumeTopic(url, name),
    )
  })

  it('to RabbitMQ', async () => {
    const url = process.env['RABBITMQ_URL']!
    await makeQueue(url, name)
    const target = new URL(url)
    target.searchParams.set('routingKey', name)
    await delivers('rabbitmq_outbox', target.href, () => queuedMessages(url, name))
  })

  it('to NATS JetStream', async () => {
    const url = process.env['NATS_URL']!
    const streams = await NatsStreams.open(url)
    try {
      await streams.make(name)
      const { host } = new URL(url.includes('://') ? url : `nats://${url}`)
      await delivers('nats_outbox', `nats://${host}/${name}?stream=${name}`, () => streams.stored(name))
    } finally {
      await streams.close()
    }
  })

  it('to Redis Streams', async () => {
    const url = process.env['REDIS_URL']!
    const target = new URL(url)
    target.searchParams.set('stream', name)
    await delivers('redis_outbox', target.href, () => storedInStream(url, name))
  })
})

/** Writes events, lets the relay deliver them, and compares what the broker has stored. */
async function delivers(table: string, to: string, stored: () => Promise<readonly Stored[]>): Promise<void> {
  const outbox = outboxAt(address.href, table)
  const store = await outbox.open()
  await store.migrate()
  await store.close()
  const ids = await writePending(outbox, 'OrderPlaced', 20)
  const call = new RunningCall(['relay', '--to', to, '--port', '0', ...outbox.args])
  await call.until(/The relay delivers/)
  const done = async () =>
    (await sendoffJson<{ counts: { DONE: { count: number } } }>(['status', ...outbox.args])).counts.DONE.count
  while ((await done()) < ids.length) await wait(20)
  call.kill('SIGTERM')
  const { code, stderr } = await call.ended
  equal(code, 0, stderr)
  const got = (await stored()).map(({ headers }) => headers['event-id'])
  deepEqual(got.toSorted(), ids.toSorted())
}
