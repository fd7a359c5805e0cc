import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { fixedDelay, ListenerRegistry, Outbox, type RoutingOptions, silentLogger } from '../../src/index.ts'
import { EventStatus } from '../../src/store/event-status.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'

const count = 300
const keyOf = (number: number) => `k-${number % 7}`

const routing: RoutingOptions = {
  version: 1,
  rules: [{ to: ['kafka', 'mail'] }],
  destinations: { kafka: {}, mail: { retry: fixedDelay(2), maxAttempts: 10_000 } },
}

// Runs with processes, faults and the other stores are in test/faults.
for (const mode of ['multiNode', 'partitioned'] as const) {
  it(`a destination that is dead for a third of the run holds up no other, ${mode}`, async () => {
    const store = memoryStore()
    store.close = async () => {}
    let isDead = false
    let failures = 0
    const received: Record<string, number[]> = { kafka: [], mail: [] }
    const listeners = new ListenerRegistry()
    for (const destination of Object.keys(received)) {
      listeners.registerDefault(
        async ({ payload }) => {
          if (destination === 'mail' && isDead) {
            failures++
            throw new Error('The mail server is down.')
          }
          received[destination]!.push(payload as number)
          await new Promise((resolve) => setImmediate(resolve))
        },
        { destination },
      )
    }
    const options = { store, listeners, routing, logger: silentLogger, poller: { intervalMs: 20 } }
    const outboxes = [Outbox[mode](options), Outbox[mode](options)]
    for (const outbox of outboxes) await outbox.start()
    const isDone = async (destination: string) =>
      (await store.people.count({ destination, status: [EventStatus.NEW, EventStatus.RETRY] })) === 0
    const settled = async (destination: string) => {
      while (!(await isDone(destination))) await new Promise((resolve) => setTimeout(resolve, 2))
    }

    for (let number = 0; number < count; number++) {
      if (number === count / 3) {
        await settled('mail')
        isDead = true
      }
      if (number === (count * 2) / 3) {
        // While mail is dead, the other destination gets everything.
        await settled('kafka')
        equal(received['kafka']!.length, number)
        equal(received['mail']!.length, count / 3)
        isDead = false
      }
      const outbox = outboxes[number % 2]!
      await outbox.transaction(() => outbox.write('Any', number, { orderingKey: keyOf(number) }))
    }
    await settled('kafka')
    await settled('mail')
    for (const outbox of outboxes) await outbox.close()

    equal(failures > 0, true)
    const written = Array.from({ length: count }, (_, number) => number)
    for (const numbers of Object.values(received)) {
      deepEqual(
        numbers.toSorted((a, b) => a - b),
        written,
      )
      if (mode !== 'partitioned') continue
      for (const key of new Set(written.map(keyOf))) {
        deepEqual(
          numbers.filter((number) => keyOf(number) === key),
          written.filter((number) => keyOf(number) === key),
        )
      }
    }
  })
}

it('failed deliveries let other work of the process run in between', async () => {
  const store = memoryStore()
  let inTurn = 0
  let most = 0
  const listeners = new ListenerRegistry().registerDefault(
    () => {
      most = Math.max(most, ++inTurn)
      throw new Error('The mail server is down.')
    },
    { destination: 'mail' },
  )
  const mail = { retry: fixedDelay(60_000), concurrency: 4 }
  const outbox = Outbox.multiNode({
    store,
    listeners,
    logger: silentLogger,
    routing: { version: 1, rules: [{ to: 'mail' }], destinations: { mail } },
  })
  await outbox.start()
  await outbox.transaction(() =>
    outbox.writeAll(Array.from({ length: 60 }, (_, number) => ({ type: { name: 'Any' }, payload: number }))),
  )
  const isOver = outbox.drain().then(() => true)
  while (!(await Promise.race([isOver, nextTurn()]))) inTurn = 0
  await outbox.close()

  equal(await store.people.count({ status: [EventStatus.RETRY] }), 60)
  equal(most <= 4, true, `${most} in one turn`)
})

function nextTurn(): Promise<false> {
  return new Promise((resolve) => setImmediate(resolve, false))
}
