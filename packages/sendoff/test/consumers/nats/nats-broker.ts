import { jetstream, jetstreamManager, type JetStreamPublishOptions } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { natsConsumer } from '../../../src/consumers/nats/index.ts'
import { type NatsJetStream, natsPublisher } from '../../../src/publishers/nats/index.ts'
import { closingClient, type ConsumedBroker } from '../consumed-broker.ts'

const durable = 'tested'

export async function openBroker(url: string): Promise<ConsumedBroker> {
  const connection = await connect({ servers: url })
  const manager = await jetstreamManager(connection)
  const client = jetstream(connection)
  return {
    async makeDestination(name) {
      await manager.streams.add({ name, subjects: [name] })
      await manager.consumers.add(name, {
        durable_name: durable,
        ack_policy: 'explicit',
        ack_wait: 1_000_000_000,
      })
      return name
    },
    publisher(subject) {
      // Without its id, the stream stores a message twice that comes twice.
      const publish: NatsJetStream['publish'] = (to, payload, { msgID: _, ...options } = {}) =>
        client.publish(to, payload, options as Partial<JetStreamPublishOptions>)
      return Promise.resolve(natsPublisher({ jetstream: { publish }, subject, logger: false }))
    },
    async sendWithoutId(subject) {
      await client.publish(subject, Buffer.from('"no id"'))
    },
    async consumer(stream, options, through = url) {
      const own = await connect({
        servers: through,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 100,
      })
      const consumer = await jetstream(own).consumers.get(stream, durable)
      return closingClient(natsConsumer({ consumer, ...options }), async () => {
        // A connection that was cut just before fails the first flush. The second one waits for the next connection.
        await own
          .flush()
          .catch(() => own.flush())
          .finally(() => own.close())
      })
    },
    async unacknowledged(stream) {
      // The server counts an acknowledgement a moment after it came.
      for (let last = -1; ;) {
        const { num_pending, num_ack_pending } = await manager.consumers.info(stream, durable)
        const now = num_pending + num_ack_pending
        if (now === last || now === 0) return now
        last = now
        await delay(100)
      }
    },
    close: () => connection.close(),
  }
}
