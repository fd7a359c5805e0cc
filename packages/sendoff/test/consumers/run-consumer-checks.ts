import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ConsumedMessage, ConsumerOptions, MessageConsumer } from '../../src/consumers/shared.ts'
import type { EventEnvelope } from '../../src/event/event-envelope.ts'
import { exponentialBackoff } from '../../src/retry/exponential-backoff.ts'
import {
  idsOf,
  publishAll,
  sampleEvent,
  sampleEvents,
} from '../../src/testing/publisher-checks/publish-steps.ts'
import { until } from '../fixtures/outbox-fixture.ts'
import type { BrokerModule, ConsumedBroker } from './consumed-broker.ts'
import { Effects } from './effects.ts'

const soon = exponentialBackoff({ baseDelayMs: 5, maxDelayMs: 20 })

/** Runs the checks of consumers with one client of a broker. `path` is that of its module. */
export async function runConsumerChecks(name: string, path: URL, url: string): Promise<void> {
  const module = (await import(path.href)) as BrokerModule

  describe(name, () => {
    let broker: ConsumedBroker
    let destinations = 0
    before(async () => {
      broker = await module.openBroker(url)
    })
    after(() => broker.close())

    const label = name.replaceAll(/\W+/g, '-')
    const newDestination = (partitions?: number): Promise<string> =>
      broker.makeDestination(`consume-${label}-${process.pid}-${destinations++}`, partitions)
    const send = async (destination: string, events: readonly EventEnvelope[]): Promise<void> =>
      publishAll(await broker.publisher(destination), events)
    const start = async (
      test: TestContext,
      destination: string,
      effects: Effects,
      options: Partial<ConsumerOptions<any>> = {},
    ): Promise<MessageConsumer> => {
      const { inbox, handler, logger } = effects
      const consumer = await broker.consumer(destination, { inbox, handler, logger, retry: soon, ...options })
      test.after(() => consumer.close())
      return await consumer.start()
    }
    /** Closes a consumer, and requires that it has left this number of messages. */
    const closeLeaving = async (
      consumer: MessageConsumer,
      destination: string,
      left: number,
    ): Promise<void> => {
      await consumer.close()
      equal(await broker.unacknowledged(destination), left)
    }

    it('gives each message one effect, also if it comes twice', async (test) => {
      const destination = await newDestination(2)
      const effects = await Effects.forTest(test)
      const events = sampleEvents(20)
      await send(destination, events)
      await send(destination, events)
      const consumer = await start(test, destination, effects)
      await effects.untilProcessed(40)
      deepEqual((await effects.ids()).toSorted(), [...idsOf(events)].toSorted())
      await closeLeaving(consumer, destination, 0)
      // A broker that has just started may be away for a moment.
      const lines = effects.log.filter(
        (line) => !line.includes('can be reached') && !line.includes('cannot be reached'),
      )
      deepEqual(lines, [])
    })

    it('passes on type, payload, headers and key of a message', async (test) => {
      const destination = await newDestination()
      const effects = await Effects.forTest(test)
      const messages: ConsumedMessage[] = []
      await send(destination, [sampleEvent(7, { headers: { tone: 'blue' }, aggregateId: 'c-1' })])
      await start(test, destination, effects, { handler: (message) => void messages.push(message) })
      await effects.untilProcessed(1)
      const [{ type, payload, headers }] = messages as [ConsumedMessage]
      deepEqual(
        { type, payload, tone: headers['tone'], aggregate: headers['aggregate-id'] },
        { type: 'Checked', payload: { number: 7 }, tone: 'blue', aggregate: 'c-1' },
      )
    })

    it('tries a message again whose handler fails, and others go on meanwhile', async (test) => {
      const destination = await newDestination(2)
      const effects = await Effects.forTest(test)
      const events = Array.from({ length: 10 }, (_, number) =>
        sampleEvent(number, { orderingKey: `k-${number}` }),
      )
      const ids = idsOf(events)
      const attempts: number[] = []
      await send(destination, events)
      const consumer = await start(test, destination, effects, {
        async handler(message, _, { attempt }) {
          if (message.id === ids[3]) {
            attempts.push(attempt)
            // The failing message stays the last one.
            if (attempt < 3 || effects.processed.length < 9) throw new Error('not yet')
          }
          await effects.handler(message)
        },
      })
      await effects.untilProcessed(10)
      await closeLeaving(consumer, destination, 0)
      deepEqual((await effects.ids()).toSorted(), ids.toSorted())
      equal((await effects.ids()).at(-1), ids[3])
      deepEqual(attempts.slice(0, 3), [1, 2, 3])
      match(effects.log[0]!, /failed at attempt 1, next in .*not yet/)
      ok(effects.log.length <= 5, effects.log.join('\n'))
    })

    it('hands a poison message to accept, and its handler never runs again', async (test) => {
      const destination = await newDestination()
      const effects = await Effects.forTest(test)
      const events = sampleEvents(4)
      const [poison] = idsOf(events)
      let runs = 0
      await send(destination, events)
      const consumer = await start(test, destination, effects, {
        accept: true,
        retry: exponentialBackoff({ baseDelayMs: 5, maxDelayMs: 5, maxAttempts: 3 }),
        async handler(message) {
          if (message.id === poison) {
            runs += 1
            throw new Error('poison')
          }
          await effects.handler(message)
        },
      })
      await effects.untilProcessed(4)
      await send(destination, [events[0]!])
      await effects.untilProcessed(5)
      await closeLeaving(consumer, destination, 0)
      equal(runs, 3)
      deepEqual((await effects.ids()).toSorted(), idsOf(events).slice(1).toSorted())
      const accepted = await effects.rows('Checked')
      deepEqual(
        accepted.map(({ payload, headers }) => ({ payload, id: JSON.parse(headers!)['sendoff-message-id'] })),
        [{ payload: '{"number":0}', id: poison }],
      )
    })

    it('without a handler makes each message an event, once', async (test) => {
      const destination = await newDestination()
      const effects = await Effects.forTest(test)
      const events = sampleEvents(5, { orderingKey: 'k', tenantId: 't' })
      await send(destination, events)
      await send(destination, events)
      const consumer = await broker.consumer(destination, { inbox: effects.inbox, accept: true })
      test.after(() => consumer.close())
      await consumer.start()
      await until(() => effects.accepted.length === 10)
      await closeLeaving(consumer, destination, 0)
      const rows = await effects.rows('Checked')
      deepEqual(
        rows.map(({ payload }) => payload).toSorted(),
        events.map(({ payloadJson }) => payloadJson!),
      )
      equal(
        rows.every(({ tenantId, aggregateType }) => tenantId === 't' && aggregateType === 'Check'),
        true,
      )
    })

    it('keeps a message without an id, tells of it, and goes on with others', async (test) => {
      const destination = await newDestination(2)
      const effects = await Effects.forTest(test)
      const events = [sampleEvent(1, { orderingKey: 'k' })]
      await broker.sendWithoutId(destination)
      await send(destination, events)
      const keeping = await start(test, destination, effects)
      await until(async () => (await effects.ids()).length === 1 && effects.log.length > 0)
      match(effects.log.join('\n'), /has no id.*messageId.*stays/)
      await keeping.close()
      ok((await broker.unacknowledged(destination)) > 0)

      const invalid: string[] = []
      const calling = await start(test, destination, effects, {
        onInvalid: ({ body }) => void invalid.push(String(body)),
      })
      await until(() => invalid.length === 1)
      await closeLeaving(calling, destination, 0)
      deepEqual(invalid, ['"no id"'])
      deepEqual(await effects.ids(), idsOf(events))
    })

    it('finishes what runs when it closes, and leaves the rest to the next one', async (test) => {
      const destination = await newDestination()
      const effects = await Effects.forTest(test)
      const events = sampleEvents(10)
      const running = Promise.withResolvers<void>()
      const release = Promise.withResolvers<void>()
      await send(destination, events)
      const closing = await start(test, destination, effects, {
        concurrency: 1,
        async handler(message) {
          running.resolve()
          await release.promise
          await effects.handler(message)
        },
      })
      await running.promise
      const closed = closing.close()
      release.resolve()
      await closed
      equal((await effects.ids()).length, 1)
      equal(await broker.unacknowledged(destination), 9)

      const next = await start(test, destination, effects)
      await effects.untilProcessed(10)
      await closeLeaving(next, destination, 0)
      deepEqual((await effects.ids()).toSorted(), [...idsOf(events)].toSorted())
    })

    it('does not wait for ever for a handler that hangs when it closes', async (test) => {
      const destination = await newDestination()
      const effects = await Effects.forTest(test)
      const events = sampleEvents(1)
      await send(destination, events)
      const running = Promise.withResolvers<AbortSignal>()
      const hanging = await start(test, destination, effects, {
        closeTimeoutMs: 20,
        handler: (_, __, { signal }) => {
          running.resolve(signal)
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        },
      })
      const signal = await running.promise
      await hanging.close()
      equal(signal.aborted, true)
      const next = await start(test, destination, effects)
      await effects.untilProcessed(1)
      await closeLeaving(next, destination, 0)
      deepEqual(await effects.ids(), idsOf(events))
    })

    it('gives one effect to a message whose consumer was killed between commit and acknowledgement', async (test) => {
      const destination = await newDestination()
      const effects = await Effects.forTest(test)
      const events = sampleEvents(3)
      await send(destination, events)
      const script = fileURLToPath(new URL('killed-consumer.ts', import.meta.url))
      const child = spawn(process.execPath, [script, path.href, url, destination, effects.file], {
        stdio: 'inherit',
      })
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
      equal(signal, 'SIGKILL')
      equal((await effects.ids()).length, 1)

      const next = await start(test, destination, effects)
      await effects.untilProcessed(3)
      await closeLeaving(next, destination, 0)
      deepEqual((await effects.ids()).toSorted(), [...idsOf(events)].toSorted())
      ok(effects.processed.includes('duplicate'))
    })
  })
}
