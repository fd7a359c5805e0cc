import { makeQueue } from '../../../packages/sendoff/test/publishers/rabbitmq/rabbitmq-queues.ts'
import { rabbitmqServer } from '../../services/servers/rabbitmq/rabbitmq-server.ts'
import { soundEndToEnd } from '../end-to-end/sound-end-to-end.ts'

soundEndToEnd('rabbitmq', false, async (folder) => {
  const rabbitmq = await rabbitmqServer(folder)
  const destination = await makeQueue(rabbitmq.server.url, 'orders')
  await rabbitmq.writeDown()
  return { server: rabbitmq.server, destination, close: () => rabbitmq.remove() }
})
