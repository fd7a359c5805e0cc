import { deepEqual, equal } from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, it, type TestContext } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { bootstrapBrokers } from '../../../test/services/servers/kafka/kafka-cluster.ts'
import { consumeTopic, makeTopic } from '../../sendoff/test/publishers/kafka/kafka-topics.ts'
import { makeQueue, queuedMessages } from '../../sendoff/test/publishers/rabbitmq/rabbitmq-queues.ts'
import { installedWith } from './installed-with.ts'
import { RunningCall, sendoff, sendoffJson } from './run-sendoff.ts'
import { newSqliteOutbox, writePending } from './tested-outbox.ts'

const name = `other_clients_${process.pid}`

describe('the second client of each kind', { concurrency: 3 }, () => {
  const databases: readonly (readonly [client: string, variable: string])[] = [
    ['postgres', 'POSTGRES_URL'],
    ['mariadb', 'MARIADB_URL'],
    ['redis', 'REDIS_URL'],
  ]
  for (const [client, variable] of databases) {
    it(`opens a store: ${client}`, async (test) => {
      const options = installedWith(test, [client])
      const url = new URL(process.env[variable]!)
      if (client === 'mariadb') url.pathname = await newDatabase(test, url.href)
      const args = ['--url', url.href, '--table', name]
      const migrated = await sendoff(['migrate', ...args], options)
      deepEqual([migrated.code, migrated.stderr], [0, ''])
      const { counts } = await sendoffJson<{ counts: { PENDING: { count: number } } }>(
        ['status', ...args],
        options,
      )
      equal(counts.PENDING.count, 0)
      const url2 = new URL(url)
      url2.port = '1'
      const away = await sendoff(['status', '--url', url2.href], options)
      equal(away.code, 3, away.stderr)
    })
  }

  it('relays: kafkajs', async (test) => {
    const url = process.env['KAFKA_URL']!
    await makeTopic(url, name)
    const to = `kafka://${bootstrapBrokers(url).join(',')}/${name}`
    await delivers(test, ['kafkajs'], to, () => consumeTopic(url, name))
  })

  it('relays: amqplib', async (test) => {
    const url = process.env['RABBITMQ_URL']!
    await makeQueue(url, name)
    const to = new URL(url)
    to.searchParams.set('routingKey', name)
    await delivers(test, ['amqplib'], to.href, () => queuedMessages(url, name))
  })
})

async function newDatabase(test: TestContext, url: string): Promise<string> {
  const connection = await createConnection(url)
  await connection.query(`create database ${name}`)
  test.after(async () => {
    await connection.query(`drop database ${name}`)
    await connection.end()
  })
  return name
}

async function delivers(
  test: TestContext,
  clients: readonly string[],
  to: string,
  stored: () => Promise<readonly { readonly headers: Readonly<Record<string, string | undefined>> }[]>,
): Promise<void> {
  const outbox = await newSqliteOutbox(test)
  const ids = await writePending(outbox, 'OrderPlaced', 5)
  const call = new RunningCall(
    ['relay', '--to', to, '--port', '0', ...outbox.args],
    installedWith(test, clients),
  )
  await call.until(/The relay delivers/)
  const done = async () =>
    (await sendoffJson<{ counts: { DONE: { count: number } } }>(['status', ...outbox.args])).counts.DONE.count
  while ((await done()) < ids.length) await wait(20)
  call.kill('SIGTERM')
  const { code, stderr } = await call.ended
  equal(code, 0, stderr)
  deepEqual((await stored()).map(({ headers }) => headers['event-id']).toSorted(), ids.toSorted())
}
