import { natsPublisher } from 'sendoff/nats'
import { nats } from '../../test/services/servers/nats/nats.ts'
import type { RelayBroker } from './relay-broker.ts'

/** A JetStream that stores its messages in files. */
export const natsBroker: RelayBroker = {
  name: 'nats',
  service: nats,

  async open(stream) {
    const { jetstream, jetstreamManager } = await import('@nats-io/jetstream')
    const { connect, headers } = await import('@nats-io/transport-node')
    const connection = await connect({ servers: process.env['NATS_URL']! })
    const { streams } = await jetstreamManager(connection)
    await streams.add({ name: stream, subjects: [stream] })
    const client = jetstream(connection)
    return {
      publisher: natsPublisher({ jetstream: client, subject: stream }),
      sendAll: (messages) =>
        Promise.all(
          messages.map((message) => {
            const sent = headers()
            for (const [name, value] of Object.entries(message.headers)) sent.set(name, value)
            sent.set('content-type', message.contentType)
            return client.publish(stream, message.body, { msgID: message.id, headers: sent })
          }),
        ),
      async remove() {
        await streams.delete(stream)
        await connection.close()
      },
    }
  },
}
