import { equal, match } from 'node:assert/strict'
import { it } from 'node:test'
import { until } from '../fixtures/outbox-fixture.ts'
import type { BrokerModule } from './consumed-broker.ts'
import { Effects } from './effects.ts'

/** Checks that a consumer warns, once, of a broker that keeps messages longer than the inbox its marks. */
export function runRedeliveryCheck(
  name: string,
  path: URL,
  url: string,
  /** Makes the broker keep messages for 20 days, and returns the options by which the consumer learns it. */
  prepare: (destination: string) => Promise<object> = () =>
    Promise.resolve({ redeliveryMs: 20 * 86_400_000 }),
): void {
  it(`${name} warns if the inbox forgets messages sooner than the broker`, async (test) => {
    const module = (await import(path.href)) as BrokerModule
    const broker = await module.openBroker(url)
    test.after(() => broker.close())
    const destination = await broker.makeDestination(`keep-${name.replaceAll(/\W+/g, '-')}-${process.pid}`)
    const effects = await Effects.forTest(test)
    const { inbox, handler, logger } = effects
    const options = { inbox, handler, logger, ...(await prepare(destination)) }
    for (let times = 0; times < 2; times++) {
      const consumer = await broker.consumer(destination, options)
      test.after(() => consumer.close())
      await consumer.start()
      await until(() => effects.warnings.length > 0 || effects.log.length > 0)
      await consumer.close()
    }
    equal(effects.warnings.length, 1, effects.log.join('\n'))
    match(effects.warnings[0]!, new RegExp(`"${destination}" may deliver a message again after 20 days`))
  })
}
