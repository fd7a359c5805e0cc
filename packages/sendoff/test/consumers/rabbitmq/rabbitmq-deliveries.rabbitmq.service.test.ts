import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Channel, connect, type GetMessage } from 'amqplib'
import type { RabbitmqConsumerOptions } from '../../../src/consumers/rabbitmq/index.ts'
import type { ConsumedMessage, ConsumerInbox } from '../../../src/consumers/shared.ts'
import { until } from '../../fixtures/outbox-fixture.ts'
import type { BrokerModule, ConsumedBroker } from '../consumed-broker.ts'
import { Effects } from '../effects.ts'

const url = process.env['RABBITMQ_URL']!

for (const client of ['amqplib', 'rabbitmq-client'] as const) {
  describe(`deliveries of RabbitMQ with ${client}`, () => {
    let broker: ConsumedBroker
    let connection: Awaited<ReturnType<typeof connect>>
    let channel: Channel
    let queues = 0
    before(async () => {
      const module = (await import(`./${client}-broker.ts`)) as BrokerModule
      broker = await module.openBroker(url)
      connection = await connect(url)
      channel = await connection.createChannel()
    })
    after(async () => {
      await connection.close()
      await broker.close()
    })

    const consume = async (
      test: TestContext,
      queue: string,
      { inbox, handler, logger }: Effects,
      options: Partial<RabbitmqConsumerOptions<any>>,
    ): Promise<void> => {
      const consumer = await broker.consumer(queue, { inbox, handler, logger, ...options })
      test.after(() => consumer.close())
      await consumer.start()
    }
    /** Makes a queue whose rejected messages go to another one. */
    const makeQueues = async (): Promise<{ readonly queue: string; readonly dead: string }> => {
      const queue = `deliveries-${client}-${process.pid}-${queues++}`
      const dead = `${queue}-dead`
      await channel.assertQueue(dead)
      await channel.assertQueue(queue, { deadLetterExchange: '', deadLetterRoutingKey: dead })
      return { queue, dead }
    }
    const send = (queue: string, id: string, body = '{"n":1}', contentType = 'application/json'): void => {
      channel.sendToQueue(queue, Buffer.from(body), {
        contentType,
        headers: { 'event-id': id },
        type: 'Sent',
      })
    }
    const nextOf = async (queue: string): Promise<GetMessage> => {
      let message: GetMessage | false = false
      await until(async () => (message = await channel.get(queue, { noAck: true })) !== false)
      return message as unknown as GetMessage
    }

    it('go to the dead-letter queue at once if they fail and the option says so', async (test) => {
      const { queue, dead } = await makeQueues()
      const effects = await Effects.forTest(test)
      const runs: string[] = []
      for (const id of ['m-1', 'poison', 'm-2']) send(queue, id)
      await consume(test, queue, effects, {
        onFailure: 'reject',
        async handler(message: ConsumedMessage) {
          runs.push(message.id)
          if (message.id === 'poison') throw new Error('poison')
          await effects.handler(message)
        },
      } as Partial<RabbitmqConsumerOptions<any>>)
      const { properties, content } = await nextOf(dead)
      equal(properties.headers?.['event-id'], 'poison')
      equal(properties.headers?.['x-death']?.[0]?.reason, 'rejected')
      equal(String(content), '{"n":1}')
      await effects.untilProcessed(2)
      deepEqual((await effects.ids()).toSorted(), ['m-1', 'm-2'])
      deepEqual(runs.toSorted(), ['m-1', 'm-2', 'poison'])
      equal(await broker.unacknowledged(queue), 0)
    })

    it('are not rejected while the database is away, or another consumer holds the message', async (test) => {
      const { queue, dead } = await makeQueues()
      const effects = await Effects.forTest(test)
      let calls = 0
      const inbox: ConsumerInbox<any> = {
        ...effects.inbox,
        async process(...args) {
          calls += 1
          if (calls === 1) throw new Error('connection refused')
          return calls === 2 ? 'busy' : await effects.inbox.process(...args)
        },
      }
      send(queue, 'm-1')
      await consume(test, queue, effects, {
        inbox,
        onFailure: 'reject',
        retry: { computeDelayMs: () => 1 },
      } as Partial<RabbitmqConsumerOptions<any>>)
      await effects.untilProcessed(1)
      deepEqual(await effects.ids(), ['m-1'])
      equal((await channel.checkQueue(dead)).messageCount, 0)
    })

    it('are rejected if they are invalid and dropped', async (test) => {
      const { queue, dead } = await makeQueues()
      const effects = await Effects.forTest(test)
      channel.sendToQueue(queue, Buffer.from('"no id"'), { contentType: 'application/json' })
      await consume(test, queue, effects, { onInvalid: 'drop' })
      equal(String((await nextOf(dead)).content), '"no id"')
      match(effects.log[0]!, /has no id/)
    })

    it('have the same payload with both clients, and with amqplib the bytes of the sender', async (test) => {
      const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
      const bodies: Readonly<Record<string, readonly [string, string?]>> = {
        'large numbers': ['{ "id": 12345678901234567890, "small": 1e-400, "float": 1.0 }'],
        'odd keys': ['{"b":1,"10":2,"__proto__":3,"b":4}'],
        text: ['"text"'],
        nothing: ['', 'application/json'],
        'no JSON': ['{', 'application/json'],
        'plain text': ['naïve', 'text/plain'],
        bytes: ['\u0000\u0001', 'application/octet-stream'],
        'nested deeply': [deep],
      }
      const { queue, dead } = await makeQueues()
      const effects = await Effects.forTest(test)
      const received = new Map<string, ConsumedMessage>()
      for (const [id, [body, type]] of Object.entries(bodies)) send(queue, id, body, type)
      await consume(test, queue, effects, { handler: (message) => void received.set(message.id, message) })
      await until(() => received.size === Object.keys(bodies).length)

      const payload = (id: string): unknown => received.get(id)?.payload
      deepEqual(payload('large numbers'), { id: 12345678901234567000, small: 0, float: 1 })
      equal(JSON.stringify(payload('odd keys')), '{"10":2,"b":4,"__proto__":3}')
      equal(payload('text'), 'text')
      equal(payload('nothing'), null)
      deepEqual(payload('plain text'), Buffer.from('naïve'))
      deepEqual(payload('bytes'), Buffer.from([0, 1]))
      let depth = 0
      for (let inner = payload('nested deeply'); Array.isArray(inner); inner = inner[0]) depth += 1
      equal(depth, 20_000)
      throws(() => payload('no JSON'), { code: 'OUTBOX_PAYLOAD_UNREADABLE' })

      const body = (id: string): string => String(received.get(id)?.body)
      for (const id of ['text', 'nothing', 'no JSON', 'plain text', 'bytes']) equal(body(id), bodies[id]![0])
      equal(
        body('large numbers'),
        client === 'amqplib'
          ? bodies['large numbers']![0]
          : '{"id":12345678901234567000,"small":0,"float":1}',
      )
      equal((await channel.checkQueue(dead)).messageCount, 0)
    })
  })
}
