import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Channel, type ChannelModel, connect } from 'amqplib'
import { faultProxy } from '../../../../../test/services/proxy/fault-proxy.ts'
import { rabbitmqConsumer } from '../../../src/consumers/rabbitmq/index.ts'
import { Effects } from '../effects.ts'

const url = process.env['RABBITMQ_URL']!
const queue = `closing-${process.pid}`

/** Starts a consumer whose channel has other methods. `closed` resolves when its connection is closed. */
async function startWith(test: TestContext, to: string, methods: Partial<Channel>) {
  const { inbox, handler, logger, log } = await Effects.forTest(test)
  const connection = await connectWith(to, methods)
  const closed = new Promise<void>((resolve) => connection.once('close', () => resolve()))
  const consumer = rabbitmqConsumer({ connection: () => connection, queue, inbox, handler, logger })
  await consumer.start()
  return { consumer, closed, log }
}

async function connectWith(to: string, methods: Partial<Channel>): Promise<ChannelModel> {
  const connection = await connect(to)
  const setUp = await connection.createChannel()
  await setUp.assertQueue(queue)
  await setUp.close()
  const createChannel = connection.createChannel.bind(connection)
  connection.createChannel = async () => Object.assign(await createChannel(), methods)
  return connection
}

describe('the end of a RabbitMQ consumer on amqplib', () => {
  it('closes the connection even if the channel cannot be closed', async (test) => {
    const { consumer, closed, log } = await startWith(test, url, {
      close: () => Promise.reject(new Error('no')),
    })
    await consumer.close()
    await closed
    deepEqual(log, [])
  })

  it('closes the connection even if the broker answers nothing any more', async (test) => {
    const never = (): Promise<never> => new Promise(() => {})
    const { consumer, closed, log } = await startWith(test, url, { cancel: never, close: never })
    await consumer.close()
    await closed
    equal(log.length, 1, log.join('\n'))
    match(log[0]!, /closing the consumer failed in part\. .*no answer within 2000 ms/)
  })

  it('does not wait for a connection that was lost while it closed', { timeout: 60_000 }, async (test) => {
    const proxy = await faultProxy(url)
    test.after(() => proxy.close())
    const { consumer, log } = await startWith(test, proxy.url, {
      // The connection goes away, and the client never settles the call.
      close() {
        proxy.cut()
        return new Promise(() => {})
      },
    })
    // Time limits never end the wait here.
    test.mock.timers.enable({ apis: ['setTimeout'] })
    await consumer.close()
    deepEqual(log, [])
  })
})
