import { deepEqual } from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Admin } from '@platformatic/kafka'
import { Kafka, logLevel } from 'kafkajs'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import type { KafkaAdmin } from '../../../src/consumers/kafka/index.ts'
import { topicRetention } from '../../../src/consumers/kafka/topic-retention.ts'
import { runRedeliveryCheck } from '../run-redelivery-check.ts'

const url = process.env['KAFKA_URL']!
const brokers = bootstrapBrokers(url)
const days = (count: number): string => String(count * 86_400_000)

const platformatic = new Admin({ clientId: 'retention', bootstrapBrokers: brokers, retries: 20 })
const kafkajs = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin()
await kafkajs.connect()
after(async () => {
  await platformatic.close()
  await kafkajs.disconnect()
})

const admins: Readonly<Record<string, KafkaAdmin>> = { platformatic, kafkajs }

for (const [client, admin] of Object.entries(admins)) {
  const module = new URL(`${client}-broker.ts`, import.meta.url)
  runRedeliveryCheck(`the Kafka consumer on ${client}`, module, url, async (topic) => {
    await configure(topic, { 'retention.ms': days(20) })
    return { admin }
  })
}

describe('the retention of topics', () => {
  it('is endless without a limit, and for compacted topics', async () => {
    const topics = ['delete', 'endless', 'compact', 'both'].map((name) => `${name}-${process.pid}`)
    const [deleting, endless, compact, both] = topics as [string, string, string, string]
    await platformatic.createTopics({ topics, partitions: 1, replicas: -1 })
    await configure(deleting, { 'retention.ms': days(3) })
    await configure(endless, { 'retention.ms': '-1' })
    await configure(compact, { 'retention.ms': days(3), 'cleanup.policy': 'compact' })
    await configure(both, { 'retention.ms': days(3), 'cleanup.policy': 'compact,delete' })
    for (const admin of Object.values(admins)) {
      const found = await topicRetention(admin, topics)
      deepEqual(
        topics.map((topic) => found.find(({ source }) => source === `topic "${topic}"`)?.redeliveryMs),
        [Number(days(3)), Infinity, Infinity, Number(days(3))],
      )
    }
  })
})

async function configure(topic: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const configs = Object.entries(settings).map(([name, value]) => ({
    name,
    value,
    configOperation: 0 as const,
  }))
  await platformatic.incrementalAlterConfigs({
    resources: [{ resourceType: 2, resourceName: topic, configs }],
  })
}
