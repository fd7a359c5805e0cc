import { deepEqual, ok } from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { faultProxy } from '../../../../test/services/proxy/fault-proxy.ts'
import { exponentialBackoff } from '../../src/retry/exponential-backoff.ts'
import {
  idsOf,
  publishAll,
  publishUntilDone,
  sampleEvents,
} from '../../src/testing/publisher-checks/publish-steps.ts'
import { until } from '../fixtures/outbox-fixture.ts'
import type { BrokerModule } from './consumed-broker.ts'
import { Effects } from './effects.ts'

/** A broker that can be taken away from its consumers. */
export interface OutagePlace {
  /** Where the broker always answers, or at least outside of the outage. */
  readonly url: string
  /** Where consumers reach the broker. */
  readonly through: string
  begin(): Promise<void>
  end(): Promise<void>
  close(): Promise<void>
}

/** Checks that a consumer survives an outage of its broker. By default, the way to the broker is cut. */
export function runOutageCheck(
  name: string,
  path: URL,
  url: string,
  open: (url: string) => Promise<OutagePlace> = cutOff,
  skip: string | false = false,
): void {
  it(`${name} survives an outage of its broker, and tells of it once`, { skip }, async (test) => {
    const module = (await import(path.href)) as BrokerModule
    const place = await open(url)
    test.after(() => place.close())
    const broker = await module.openBroker(place.url)
    test.after(() => broker.close())
    const effects = await Effects.forTest(test)
    const { inbox, logger } = effects
    const destination = await broker.makeDestination(`outage-${name.replaceAll(/\W+/g, '-')}-${process.pid}`)
    const publisher = await broker.publisher(destination)
    const events = sampleEvents(30)
    await publishAll(publisher, events.slice(0, 15))

    const running = Promise.withResolvers<void>()
    const isAway = Promise.withResolvers<void>()
    let runs = 0
    const options = {
      inbox,
      logger,
      retry: exponentialBackoff({ baseDelayMs: 5, maxDelayMs: 20 }),
      async handler(message) {
        // The broker goes away while messages run, so that their acknowledgements fail.
        if (++runs >= 5) {
          running.resolve()
          await isAway.promise
        }
        await effects.handler(message)
      },
    } satisfies Parameters<typeof broker.consumer>[1]
    const consumer = await broker.consumer(destination, options, place.through)
    test.after(() => consumer.close())
    await consumer.start()
    await running.promise
    await place.begin()
    isAway.resolve()
    // The client may have received no more than those that began.
    await effects.untilProcessed(5)
    const published = publishUntilDone(publisher, events.slice(15))
    // Some clients hide the outage and repeat what they had sent.
    let isOver = false
    void delay(1_000).then(() => (isOver = true))
    await until(() => isOver || effects.log.length > 0)
    await place.end()
    await published

    await until(async () => (await effects.ids()).length >= 30)
    await consumer.close()
    deepEqual((await effects.ids()).toSorted(), [...idsOf(events)].toSorted())
    const log = effects.log.join('\n')
    for (const once of ['cannot be reached', 'can be reached again']) {
      ok(effects.log.filter((line) => line.includes(once)).length <= 1, log)
    }
    ok(effects.log.length <= 5, log)
  })
}

/** Cuts connections between consumers and the broker as often as they come. */
async function cutOff(url: string): Promise<OutagePlace> {
  const proxy = await faultProxy(url)
  let outage: NodeJS.Timeout | undefined
  return {
    url,
    through: proxy.url,
    async begin() {
      proxy.cut()
      outage = setInterval(() => proxy.cut(), 10)
    },
    async end() {
      clearInterval(outage)
    },
    close: () => proxy.close(),
  }
}
