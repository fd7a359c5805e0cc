import { deepEqual, equal } from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { ConsumerOptions, MessageConsumer } from '../../../src/consumers/shared.ts'
import { idsOf, publishAll, sampleEvent } from '../../../src/testing/publisher-checks/publish-steps.ts'
import { until } from '../../fixtures/outbox-fixture.ts'
import type { BrokerModule } from '../consumed-broker.ts'
import { Effects } from '../effects.ts'

const url = process.env['KAFKA_URL']!
const count = process.env['SENDOFF_TEST_SCALE'] === 'full' ? 5_000 : 300

for (const name of ['platformatic', 'kafkajs']) {
  it(`gives every message one effect, in order, while consumers come and go, with ${name}`, async (test) => {
    const module = (await import(`./${name}-broker.ts`)) as BrokerModule
    const broker = await module.openBroker(url)
    test.after(() => broker.close())
    const topic = await broker.makeDestination(`rebalancing-${name}-${process.pid}`, 4)
    const effects = await Effects.forTest(test)
    const events = Array.from({ length: count }, (_, number) =>
      sampleEvent(number, { orderingKey: `k-${number % 9}` }),
    )
    const publisher = await broker.publisher(topic)
    await publishAll(publisher, events.slice(0, count / 2))

    const taken = { first: new Set<string>(), second: new Set<string>() }
    const start = (who: keyof typeof taken): Promise<MessageConsumer> => {
      const options: ConsumerOptions<any> = {
        inbox: effects.inbox,
        logger: effects.logger,
        async handler(message) {
          await effects.handler(message)
          taken[who].add(message.id)
        },
      }
      return started(test, broker.consumer(topic, options))
    }

    const first = await start('first')
    await effects.untilProcessed(20)
    const second = await start('second')
    await publishAll(publisher, events.slice(count / 2))
    await until(() => taken.second.size > 0)
    await first.close()
    await until(async () => (await effects.ids()).length >= count)
    await second.close()

    const ids = await effects.ids()
    deepEqual(ids.toSorted(), [...idsOf(events)].toSorted())
    for (let key = 0; key < 9; key++) {
      const ofKey = idsOf(events.filter(({ orderingKey }) => orderingKey === `k-${key}`))
      deepEqual(
        ids.filter((id) => ofKey.includes(id)),
        ofKey,
      )
    }
    equal(await broker.unacknowledged(topic), 0)
  })
}

async function started(test: TestContext, making: Promise<MessageConsumer>): Promise<MessageConsumer> {
  const consumer = await making
  test.after(() => consumer.close())
  return await consumer.start()
}
