import { makeTopic } from '../../../packages/sendoff/test/publishers/kafka/kafka-topics.ts'
import { kafkaCluster } from '../../services/servers/kafka/kafka-cluster.ts'
import { soundEndToEnd } from '../end-to-end/sound-end-to-end.ts'

soundEndToEnd('kafka', true, async (folder) => {
  const cluster = await kafkaCluster(folder)
  const destination = await makeTopic(cluster.url, 'orders', 6)
  const [server] = cluster.brokers
  return { server: server!, destination, close: () => cluster.kill() }
})
