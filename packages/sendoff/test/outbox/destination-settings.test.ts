import { deepEqual, equal } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  type DestinationOptions,
  type DispatchContext,
  type EventEnvelope,
  fixedDelay,
  ListenerRegistry,
  Outbox,
  silentLogger,
} from '../../src/index.ts'
import { EventStatus } from '../../src/store/event-status.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { Gate } from '../fixtures/gate.ts'

const count = 12
const modes = ['singleNode', 'multiNode', 'singleWriter', 'partitioned'] as const

type Listen = (event: EventEnvelope, context: DispatchContext) => void | Promise<void>

for (const mode of modes) {
  describe(`a setting of the destination mail, in ${mode}`, () => {
    it('concurrency: one mail at a time, and all workers for the neighbour', async (test) => {
      const end = new Gate()
      const all = { kafka: new Gate(), mail: new Gate() }
      const running = { kafka: 0, mail: 0 }
      const most = { kafka: 0, mail: 0 }
      const listen = (name: 'kafka' | 'mail', enough: number) => async () => {
        most[name] = Math.max(most[name], ++running[name])
        if (running[name] === enough) all[name].open()
        await end.passed
        running[name]--
      }
      test.after(() => end.open())
      const { written } = await outboxWith(test, { concurrency: 1 }, listen('kafka', 4), listen('mail', 1))
      await Promise.all([all.kafka.passed, all.mail.passed])
      end.open()
      await written()

      deepEqual(most, { kafka: 4, mail: 1 })
    })

    it('a pause: the neighbour goes on', async (test) => {
      const received = { kafka: 0, mail: 0 }
      const paused = { destination: 'mail' }
      const { outbox, pending, settled } = await outboxWith(
        test,
        {},
        () => void received.kafka++,
        () => void received.mail++,
        (each) => each.pause(paused),
      )
      await settled('kafka')
      deepEqual([received, await pending('mail')], [{ kafka: count, mail: 0 }, count])

      await outbox.resume(paused)
      await settled('mail')
      deepEqual(received, { kafka: count, mail: count })
    })

    it('a time limit: a listener of the neighbour runs for longer', async (test) => {
      const isOver = new Gate()
      test.after(() => isOver.open())
      const { dead, written } = await outboxWith(
        test,
        { timeoutMs: 5, maxAttempts: 1 },
        () => isOver.passed,
        async (_, { signal }) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          isOver.open()
          throw signal.reason
        },
      )
      await written()

      deepEqual([await dead('kafka'), await dead('mail')], [[], Array(count).fill(1)])
    })

    it('a retry policy: the neighbour has its own attempts', async (test) => {
      const { dead, written } = await outboxWith(
        test,
        { retry: fixedDelay(1), maxAttempts: 2 },
        () => Promise.reject(new Error('no Kafka')),
        () => Promise.reject(new Error('no mail')),
      )
      await written()

      deepEqual([await dead('kafka'), await dead('mail')], [Array(count).fill(3), Array(count).fill(2)])
    })

    it('a circuit breaker: open for mails, it is closed for the neighbour, which has one, too', async (test) => {
      const received: number[] = []
      let failures = 0
      const { settled, pending } = await outboxWith(
        test,
        { retry: fixedDelay(1), maxAttempts: 1_000, circuitBreaker: { minimumCalls: 2, coolDownMs: 60_000 } },
        ({ payload }) => void received.push(payload as number),
        () => {
          failures++
          throw new Error('no mail')
        },
      )
      await settled('kafka')

      equal(received.length, count)
      equal(await pending('mail'), count)
      // The cold path of `singleWriter` has no breaker.
      if (mode !== 'singleWriter') equal(failures < 2 * count, true, `${failures} failures`)
    })
  })

  /** An outbox with two destinations, `count` events of which are written. Only `mail` has settings. */
  async function outboxWith(
    test: TestContext,
    mail: DestinationOptions,
    toKafka: Listen,
    toMail: Listen,
    before: (outbox: ReturnType<typeof open>) => Promise<unknown> = async () => {},
  ) {
    const store = memoryStore()
    const listeners = new ListenerRegistry()
      .registerDefault(toKafka, { destination: 'kafka' })
      .registerDefault(toMail, { destination: 'mail' })
    const outbox = open()
    await outbox.start()
    test.after(() => outbox.close())
    await before(outbox)
    for (let number = 0; number < count; number++) {
      await outbox.transaction(() => outbox.write('Any', number, { orderingKey: `k-${number}` }))
    }
    const pending = (destination: string) =>
      store.people.count({ destination, status: [EventStatus.NEW, EventStatus.RETRY] })
    const settled = async (destination: string) => {
      while ((await pending(destination)) > 0) await outbox.drain()
    }
    return {
      outbox,
      pending,
      settled,
      written: () => Promise.all([settled('kafka'), settled('mail')]),
      dead: async (destination: string) =>
        (await outbox.deadEvents.query({ destination, limit: 100 })).map(({ attempts }) => attempts),
    }

    function open() {
      return Outbox[mode]({
        store,
        listeners,
        logger: silentLogger,
        poller: { intervalMs: 10 },
        workerCount: 4,
        retryPolicy: fixedDelay(1),
        maxAttempts: 3,
        routing: {
          version: 1,
          rules: [{ to: ['kafka', 'mail'] }],
          destinations: { kafka: { circuitBreaker: { minimumCalls: 1_000 } }, mail },
        },
      })
    }
  }
}
