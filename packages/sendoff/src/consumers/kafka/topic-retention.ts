import type { Redelivery } from '../redelivery.ts'
import type { KafkaAdmin } from './kafka-client.ts'

/** The number of topics among the kinds of resources of Kafka. */
const topicResource = 2

const settings = ['cleanup.policy', 'retention.ms']

/** Asks Kafka how long topics keep messages. */
export async function topicRetention(
  admin: KafkaAdmin,
  topics: readonly string[],
): Promise<readonly Redelivery[]> {
  return (await settingsOf(admin, topics)).map(({ topic, values }) => {
    const retentionMs = Number(values.get('retention.ms') ?? NaN)
    const deletes = values.get('cleanup.policy')?.includes('delete') ?? true
    // Kafka writes -1 for messages that it keeps for ever. Compaction keeps the last one of each key.
    const isEndless = !deletes || !(retentionMs >= 0)
    return { source: `topic "${topic}"`, redeliveryMs: isEndless ? Infinity : retentionMs }
  })
}

interface TopicSettings {
  readonly topic: string
  readonly values: ReadonlyMap<string, string | null | undefined>
}

async function settingsOf(admin: KafkaAdmin, topics: readonly string[]): Promise<TopicSettings[]> {
  if ('fetchTopicMetadata' in admin) {
    const { resources } = await admin.describeConfigs({
      resources: topics.map((name) => ({ type: topicResource, name, configNames: settings })),
      includeSynonyms: false,
    })
    return resources.map(({ resourceName, configEntries }) => ({
      topic: resourceName,
      values: new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    }))
  }
  const described = await admin.describeConfigs({
    resources: topics.map((resourceName) => ({
      resourceType: topicResource,
      resourceName,
      configurationKeys: settings,
    })),
  })
  return described.map(({ resourceName, configs }) => ({
    topic: resourceName,
    values: new Map(configs.map(({ name, value }) => [name, value])),
  }))
}
