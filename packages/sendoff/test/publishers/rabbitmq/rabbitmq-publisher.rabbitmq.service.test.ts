import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ChannelModel, connect } from 'amqplib'
import { Connection } from 'rabbitmq-client'
import { faultProxy } from '../../../../../test/services/proxy/fault-proxy.ts'
import { rabbitmqServer } from '../../../../../test/services/servers/rabbitmq/rabbitmq-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import {
  type RabbitmqPublisher,
  rabbitmqPublisher,
  type RabbitmqPublisherOptions,
} from '../../../src/publishers/rabbitmq/index.ts'
import {
  idOf,
  idsOf,
  kindsOf,
  publish,
  publishAll,
  sampleEvent,
  sampleEvents,
} from '../../../src/testing/publisher-checks/publish-steps.ts'
import { makeQueue, queuedMessages } from './rabbitmq-queues.ts'

const url = process.env['RABBITMQ_URL']!

for (const client of ['amqplib', 'rabbitmq-client'] as const) {
  describe(`rabbitmqPublisher on ${client}`, () => {
    const name = (what: string) => `${what}-${client}-${process.pid}`
    const reconnecting = new Connection({ url })
    const connection = client === 'amqplib' ? () => connect(url) : reconnecting
    const publishers: RabbitmqPublisher[] = []
    const publisherWith = (options: Partial<RabbitmqPublisherOptions>) => {
      const publisher = rabbitmqPublisher({ connection, ...options })
      publishers.push(publisher)
      return publisher
    }
    let admin: ChannelModel
    before(async () => {
      admin = await connect(url)
    })
    after(async () => {
      await Promise.all(publishers.map((publisher) => publisher.close()))
      await reconnecting.close()
      await admin.close()
    })

    it('sends persistent messages with their id, type and time', async () => {
      const queue = await makeQueue(url, name('persistent'))
      const event = sampleEvent(1)
      await publishAll(publisherWith({ routingKey: queue }), [event])

      const channel = await admin.createChannel()
      const message = await channel.get(queue, { noAck: true })
      if (message === false) throw new Error('There is no message.')
      const { deliveryMode, messageId, type, timestamp } = message.properties
      deepEqual(
        { deliveryMode, messageId, type, timestamp },
        {
          deliveryMode: 2,
          messageId: event.eventId,
          type: 'Checked',
          timestamp: Math.floor(event.occurredAt.getTime() / 1000),
        },
      )
    })

    it('routes by exchange and event type', async () => {
      const exchange = name('exchange')
      const queue = await makeQueue(url, name('bound'))
      const channel = await admin.createChannel()
      await channel.assertExchange(exchange, 'topic')
      await channel.bindQueue(queue, exchange, 'Checked')
      await publishAll(publisherWith({ exchange }), [sampleEvent(1)])
      equal((await queuedMessages(url, queue)).length, 1)
    })

    it('fails if no queue is bound, unless that is allowed', async () => {
      const exchange = name('unbound')
      await (await admin.createChannel()).assertExchange(exchange, 'topic')
      const answers = await publish(publisherWith({ exchange }), [sampleEvent(1)])
      deepEqual(kindsOf(answers), ['OUTBOX_PUBLISH_FAILED'])
      match(String(((answers[0] as Error).cause as Error).cause), /No queue is bound to exchange/)
      await publishAll(publisherWith({ exchange, failOnUnroutable: false }), [sampleEvent(1)])
    })

    it('fails only the messages to an unknown exchange', async () => {
      const queue = await makeQueue(url, name('beside'))
      const publisher = publisherWith({
        exchange: ({ eventType }) => (eventType === 'Lost' ? 'no-such-exchange' : ''),
        routingKey: queue,
      })
      const events = sampleEvents(5)
      const lost = sampleEvent(9, { eventType: 'Lost' })
      const answers = await publish(publisher, [...events.slice(0, 2), lost, ...events.slice(2)])
      deepEqual(kindsOf(answers), ['done', 'done', 'OUTBOX_PUBLISH_FAILED', 'done', 'done', 'done'])
      deepEqual([...new Set((await queuedMessages(url, queue)).map(idOf))].sort(), idsOf(events).toSorted())
    })

    it('fails if a queue refuses further messages', async () => {
      const queue = name('full')
      const channel = await admin.createChannel()
      await channel.assertQueue(queue, { maxLength: 1, arguments: { 'x-overflow': 'reject-publish' } })
      const publisher = publisherWith({ routingKey: queue })
      const answers = await publish(publisher, sampleEvents(5))
      deepEqual([...new Set(kindsOf(answers))].sort(), ['OUTBOX_PUBLISH_FAILED', 'done'])
      equal(
        (await queuedMessages(url, queue)).length,
        kindsOf(answers).filter((kind) => kind === 'done').length,
      )
    })

    it('closes soon although the broker has stopped reading', { timeout: 20_000 }, async () => {
      const queue = await makeQueue(url, name('alarmed'))
      const proxy = await faultProxy(url)
      const own = client === 'amqplib' ? undefined : new Connection({ url: proxy.url })
      const publisher = rabbitmqPublisher({
        connection: own ?? (() => connect(proxy.url)),
        routingKey: queue,
        logger: false,
      })
      await publishAll(publisher, [sampleEvent(1)])
      proxy.halfOpen()
      const aborter = new AbortController()
      const publishing = publish(publisher, [sampleEvent(2)], aborter.signal)
      await publisher.close()
      aborter.abort()
      await publishing
      own?.unsafeDestroy()
      await proxy.close()
    })

    // Needs a broker of its own, which takes seconds to start.
    const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
    it(
      'closes soon although the memory of the broker is full',
      { skip: !isFull, timeout: 60_000 },
      async () => {
        const folder = temporaryFolder('rabbitmq')
        const broker = await rabbitmqServer(folder.path)
        const queue = await makeQueue(broker.server.url, name('alarmed'))
        const own = client === 'amqplib' ? undefined : new Connection({ url: broker.server.url })
        const publisher = rabbitmqPublisher({
          connection: own ?? (() => connect(broker.server.url)),
          routingKey: queue,
          logger: false,
        })
        await publishAll(publisher, [sampleEvent(1)])
        await broker.raiseMemoryAlarm()
        const aborter = new AbortController()
        const publishing = publish(publisher, [sampleEvent(2)], aborter.signal)
        await publisher.close()
        aborter.abort()
        await publishing
        own?.unsafeDestroy()
        await broker.remove()
        folder.remove()
      },
    )

    it('sends nothing after it was closed, unless it can open a connection itself', async () => {
      const queue = await makeQueue(url, name('closed'))
      const publisher = publisherWith({ routingKey: queue, retryAfterMs: 10 })
      await publishAll(publisher, [sampleEvent(1)])
      await publisher.close()
      if (client === 'amqplib') await publishAll(publisher, [sampleEvent(2)])
      else deepEqual(kindsOf(await publish(publisher, [sampleEvent(2)])), ['retryAfter'])
    })
  })
}

describe('rabbitmqPublisher', () => {
  it('listens to a connection of amqplib once, however many channels it opens', async () => {
    const listeners: number[] = []
    let connection: ChannelModel | undefined
    const publisher = rabbitmqPublisher({
      connection: async () => (connection ??= await connect(url)),
      exchange: 'no-such-exchange',
    })
    for (let channels = 0; channels < 4; channels++) {
      deepEqual(kindsOf(await publish(publisher, [sampleEvent(channels)])), ['OUTBOX_PUBLISH_FAILED'])
      listeners.push(connection!.listenerCount('error'))
    }
    await publisher.close()
    deepEqual(listeners, Array(4).fill(listeners[0]))
  })

  it('refuses a connection that it cannot use', () => {
    throws(() => rabbitmqPublisher({ connection: {} } as unknown as RabbitmqPublisherOptions), {
      code: 'OUTBOX_INVALID_OPTION',
    })
    throws(() => rabbitmqPublisher({} as RabbitmqPublisherOptions), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
