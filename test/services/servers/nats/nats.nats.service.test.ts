import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { describeBrokerService } from '../describe-broker-service.ts'
import { natsServer } from './nats-server.ts'
import { nats } from './nats.ts'

await describeBrokerService({
  service: nats,

  async startServer(folder) {
    const server = await natsServer(folder)
    return { server, remove: () => server.kill() }
  },

  write: async (url, name) =>
    void (await ask(url, ({ streams }) => streams.add({ name: nameOf(name), subjects: [nameOf(name)] }))),

  has: (url, name) =>
    ask(url, ({ streams }) =>
      streams.info(nameOf(name)).then(
        () => true,
        () => false,
      ),
    ),
})

function nameOf(name: string): string {
  return name.replaceAll(/\W/g, '-')
}

async function ask<Answer>(
  url: string,
  question: (manager: JetStreamManager) => Promise<Answer>,
): Promise<Answer> {
  const connection = await connect({ servers: url, reconnect: false })
  try {
    return await question(await jetstreamManager(connection))
  } finally {
    await connection.close()
  }
}
