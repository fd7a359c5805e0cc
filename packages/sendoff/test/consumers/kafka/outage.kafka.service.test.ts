import { kafkaCluster } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { type OutagePlace, runOutageCheck } from '../run-outage-check.ts'

// Clients go to the address that a broker names, past any proxy. So a broker of its own is killed.
async function killedBroker(): Promise<OutagePlace> {
  const folder = temporaryFolder('kafka-outage')
  const cluster = await kafkaCluster(folder.path)
  const { url, brokers } = cluster
  return {
    url,
    through: url,
    begin: () => brokers[0]!.kill(),
    end: () => brokers[0]!.start(),
    async close() {
      await cluster.kill()
      folder.remove()
    },
  }
}

const skip =
  process.env['SENDOFF_TEST_SCALE'] !== 'full' &&
  'brokers that start and end take half a minute: they run with SENDOFF_TEST_SCALE=full'

for (const client of ['platformatic', 'kafkajs']) {
  const module = new URL(`${client}-broker.ts`, import.meta.url)
  runOutageCheck(`the Kafka consumer on ${client}`, module, process.env['KAFKA_URL']!, killedBroker, skip)
}
