import { deepEqual, equal, match, notEqual, rejects } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { UnrecoverableError } from '../../src/errors.ts'
import { defineEvent } from '../../src/event/event-type.ts'
import type { EventEnvelope } from '../../src/event/event-envelope.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import {
  fakeClock,
  RecordingListener,
  testOutbox,
  type TestOutbox,
  type TestOutboxOptions,
} from '../../src/testing/index.ts'
import { Gate } from '../fixtures/gate.ts'

const hourMs = 3_600_000
const modes = ['singleNode', 'multiNode', 'singleWriter', 'ordered', 'partitioned'] as const
const Placed = defineEvent<{ readonly order: string }>('Placed', { aggregateType: 'Order' })
const Paid = defineEvent<{ readonly order: string }>('Paid', { aggregateType: 'Order' })

/** Starts an outbox with this listener for `Placed` and `Paid`, closed when its test ends. */
async function start(
  test: TestContext,
  listener: RecordingListener<any> = new RecordingListener(),
  options: TestOutboxOptions<any, any> = {},
): Promise<TestOutbox<any>> {
  const outbox = await testOutbox<any>({
    listeners: new ListenerRegistry().register([Placed, Paid], listener),
    ...options,
  })
  test.after(() => outbox.close())
  return outbox
}

const place = (outbox: TestOutbox<any>, order = 'a') =>
  outbox.transaction(() => outbox.write(Placed, { order }))

/** Fails so many times, then succeeds. */
const failing = (times: number) =>
  new RecordingListener((_, { attempt }) => {
    if (attempt <= times) throw new Error('warehouse closed')
  })

describe('a test outbox', () => {
  it('accepts every event if no listeners are given', async () => {
    const outbox = await testOutbox()
    await outbox.transaction(() => outbox.write('Placed', { order: 'a' }))
    await outbox.drain()

    const [event] = await outbox.written()
    deepEqual([event?.status, event?.payload], ['DONE', { order: 'a' }])
    await outbox.close()
  })

  it('returns written events by type, with payloads and headers as they were written', async (test) => {
    const outbox = await start(test)
    await outbox.transaction(async () => {
      await outbox.write(Placed, { order: 'a' }, { headers: { trace: 't' } })
      await outbox.write('Placed', 'of another aggregate type')
    })

    const [placed, ...others] = await outbox.written(Placed)
    equal(placed?.payload.order, 'a')
    equal(placed.status, 'NEW')
    deepEqual(placed.headers, { trace: 't' })
    deepEqual(others, [])
    equal((await outbox.written('Placed')).length, 2)
  })

  it('delivers a retry after an hour when the clock is moved', async (test) => {
    const listener = failing(1)
    const outbox = await start(test, listener, { retryPolicy: fixedDelay(hourMs) })
    await place(outbox)
    await outbox.drain()
    const [waiting] = await outbox.written()
    deepEqual([waiting?.status, waiting?.attempts], ['RETRY', 1])
    equal(waiting?.availableAt, outbox.clock.now() + hourMs)

    await outbox.advance(hourMs - 1)
    equal(listener.events.length, 1)
    await outbox.advance(1)
    equal(listener.events.length, 2)
    equal((await outbox.written())[0]?.status, 'DONE')
    deepEqual(
      outbox.deliveries.map(({ outcome, error }) => [outcome, error]),
      [
        ['retry', 'Error: warehouse closed'],
        ['done', null],
      ],
    )
  })

  it('delivers each of many retries at its own time within one move', async (test) => {
    const times: number[] = []
    const outbox = await start(
      test,
      new RecordingListener(async (_, { attempt }) => {
        times.push(outbox.clock.monotonic())
        // Waits for something outside of the process, as a database call would.
        await readFile(import.meta.filename)
        if (attempt <= 3) throw new Error('warehouse closed')
      }),
      { retryPolicy: fixedDelay(hourMs) },
    )
    await place(outbox)
    await outbox.advance(100 * 24 * hourMs)
    deepEqual(times, [0, hourMs, 2 * hourMs, 3 * hourMs])
  })

  it('delivers a delayed event when its time has come', async (test) => {
    const listener = new RecordingListener()
    const outbox = await start(test, listener)
    const availableAt = new Date(outbox.clock.now() + 48 * hourMs)
    await outbox.transaction(async () => {
      await outbox.write(Placed, { order: 'at' }, { availableAt })
      await outbox.write(Placed, { order: 'after' }, { deliverAfterMs: 24 * hourMs })
    })

    await outbox.advance(24 * hourMs - 1)
    deepEqual(listener.payloads, [])
    await outbox.advance(1)
    deepEqual(listener.payloads, [{ order: 'after' }])
    await outbox.advance(24 * hourMs)
    deepEqual(listener.payloads, [{ order: 'after' }, { order: 'at' }])
  })

  it('records the outcome of each delivery', async (test) => {
    const reactions: Record<string, () => DispatchResult | void> = {
      done: () => {},
      defer: () => DispatchResult.retryAfter(hourMs),
      dead: () => {
        throw new UnrecoverableError('unknown address')
      },
    }
    const outbox = await start(test, new RecordingListener((event) => reactions[event.payload.order]!()))
    for (const order of Object.keys(reactions)) await place(outbox, order)
    await outbox.drain()

    deepEqual(
      outbox.deliveries.map(({ event, outcome, error }) => [
        (event as EventEnvelope<any>).payload.order,
        outcome,
        error,
      ]),
      [
        ['done', 'done', null],
        ['defer', 'defer', null],
        ['dead', 'dead', 'UnrecoverableError: unknown address'],
      ],
    )
  })

  for (const mode of modes) {
    it(`works in mode ${mode}, through many leases`, async (test) => {
      const listener = failing(1)
      const outbox = await start(test, listener, {
        mode,
        leaseMs: 60_000,
        maxAttempts: 2,
        retryPolicy: fixedDelay(hourMs),
      })
      await place(outbox)
      await outbox.advance(hourMs)
      equal((await outbox.written())[0]?.status, 'DONE')
      equal(listener.events.length, 2)
    })
  }

  it('works with another store that has the same clock', async (test) => {
    const clock = fakeClock()
    const listener = failing(1)
    const outbox = await start(test, listener, {
      clock,
      store: sqliteStore({ open: () => new DatabaseSync(':memory:'), now: clock.now }),
      retryPolicy: fixedDelay(hourMs),
    })
    await place(outbox)
    await outbox.advance(hourMs)
    equal((await outbox.written(Placed))[0]?.status, 'DONE')
  })

  for (const mode of modes) {
    it(`delivers, retries and gives up in the mode ${mode}`, async (test) => {
      const listener = failing(1)
      const outbox = await start(test, listener, {
        mode,
        maxAttempts: 2,
        retryPolicy: fixedDelay(hourMs),
        ...(mode === 'singleWriter' && { circuitBreaker: false }),
        ...(mode === 'partitioned' && { onKeyFailure: 'blockUntilDead' }),
      })
      await outbox.transaction(() => outbox.write(Placed, { order: 'a' }, { orderingKey: 'a' }))
      await outbox.drain()
      equal((await outbox.written())[0]?.status, 'RETRY')
      await outbox.advance(hourMs)
      equal((await outbox.waitFor(Placed)).payload.order, 'a')
      equal((await outbox.written())[0]?.status, 'DONE')

      await outbox.transaction(() => outbox.write('Unknown', 1))
      await outbox.drain()
      equal((await outbox.written('Unknown'))[0]?.status, 'DEAD')
    })
  }

  it('closes the circuit of a single writer again when its clock is moved', async (test) => {
    const outbox = await start(test, failing(1), {
      mode: 'singleWriter',
      circuitBreaker: { minimumCalls: 1, failureRate: 0.5, coolDownMs: hourMs },
      retryPolicy: fixedDelay(1_000),
    })
    await place(outbox)
    await outbox.drain()
    equal(outbox.circuitBreakerState, 'open')
    await outbox.advance(2 * hourMs)
    equal((await outbox.written())[0]?.status, 'DONE')
  })

  it('refuses unknown options, and those of another mode', async () => {
    await rejects(testOutbox({ mode: 'fast' as 'ordered' }), { code: 'OUTBOX_INVALID_OPTION' })
    await rejects(testOutbox({ mode: 'writerOnly' as 'ordered' }), { code: 'OUTBOX_INVALID_OPTION' })
    await rejects(testOutbox({ workers: 3 } as object), { code: 'OUTBOX_UNKNOWN_OPTION' })
    await rejects(testOutbox({ onFailure: 'retryForever' }), { code: 'OUTBOX_UNKNOWN_OPTION' })
  })
})

describe('a test outbox with a store of its own', () => {
  it('refuses a clock that the store does not use', async () => {
    const stores = [
      memoryStore(),
      memoryStore({ now: fakeClock({ now: 0 }).now }),
      sqliteStore({ open: () => new DatabaseSync(':memory:') }),
    ]
    for (const store of stores) {
      await rejects(testOutbox<any>({ store, clock: fakeClock() }), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /The store of testOutbox does not use the "clock" of its outbox/,
      })
      deepEqual(await store.people.query({ limit: 1 }), [])
    }
  })

  it('refuses a store with a fake clock unless it gets that clock', async () => {
    await rejects(testOutbox({ store: memoryStore({ now: fakeClock().now }) }), {
      code: 'OUTBOX_INVALID_OPTION',
      message: /"clock" of testOutbox must be the fakeClock\(\) whose now\(\) the store was given/,
    })
  })

  it('uses real time without a clock', async (test) => {
    const store = sqliteStore({ open: () => new DatabaseSync(':memory:') })
    const outbox = await start(test, failing(1), { store, retryPolicy: fixedDelay(20) })
    await place(outbox)
    equal((await outbox.waitFor(Placed)).payload.order, 'a')
    deepEqual(
      outbox.deliveries.map(({ outcome }) => outcome),
      ['retry', 'done'],
    )
    const refusal = { code: 'OUTBOX_INVALID_OPTION', message: /lives in real time/ }
    await rejects(outbox.advance(hourMs), refusal)
    await rejects(outbox.clock.advance(hourMs), refusal)
  })
})

describe('waitFor', () => {
  it('resolves for an event that was delivered before', async (test) => {
    const outbox = await start(test)
    await place(outbox)
    await outbox.drain()

    const event = await outbox.waitFor(Placed)
    equal(event.payload.order, 'a')
    equal((await outbox.waitFor('Placed')).eventId, event.eventId)
  })

  it('resolves for an event that is written later, and it is then DONE', async (test) => {
    const outbox = await start(test)
    const paid = outbox.waitFor(Paid, (event) => event.payload.order === 'b')
    await outbox.transaction(() =>
      outbox.writeAll([Placed.of({ order: 'b' }), Paid.of({ order: 'a' }), Paid.of({ order: 'b' })]),
    )

    equal((await paid).payload.order, 'b')
    deepEqual(
      (await outbox.written()).map(({ status }) => status),
      ['DONE', 'DONE', 'DONE'],
    )
    equal(outbox.clock.monotonic(), 0)
  })

  it('resolves for a retry once the clock has been moved', async (test) => {
    const outbox = await start(test, failing(1), { retryPolicy: fixedDelay(hourMs) })
    const placed = outbox.waitFor(Placed)
    const id = await place(outbox)
    await outbox.advance(hourMs)
    equal((await placed).eventId, id)
  })

  it('does not wait for other listeners', async (test) => {
    const gate = new Gate()
    const listener = new RecordingListener((event: EventEnvelope<any>) =>
      event.payload.order === 'slow' ? gate.passed : undefined,
    )
    const outbox = await start(test, listener)
    test.after(() => gate.open())
    await place(outbox, 'slow')
    await listener.called(1)
    await place(outbox, 'quick')
    equal((await outbox.waitFor(Placed)).payload.order, 'quick')
    gate.open()
  })

  it('rejects with the delivered, pending and dead events', async (test) => {
    const listener = new RecordingListener((event: EventEnvelope<any>) => {
      if (event.payload.order === 'retried') throw new Error('warehouse closed')
      if (event.payload.order === 'dead') throw new UnrecoverableError('unknown address')
    })
    const outbox = await start(test, listener, {
      timeLimitMs: 50,
      retryPolicy: fixedDelay(hourMs),
    })
    const fine = await place(outbox, 'fine')
    const retried = await place(outbox, 'retried')
    const dead = await place(outbox, 'dead')
    // Without the short time limit, which is meant for the wait below.
    await Outbox.prototype.drain.call(outbox)

    await rejects(
      outbox.waitFor(Placed, (event) => event.payload.order === 'missing'),
      {
        name: 'AssertionError',
        message: [
          'Expected a "Placed" event that fits the predicate to be delivered within 50 ms of real time, but there was none.',
          'Delivered:',
          `  Placed ${fine} {"order":"fine"}: done`,
          `  Placed ${retried} {"order":"retried"}: retry (Error: warehouse closed)`,
          `  Placed ${dead} {"order":"dead"}: dead (UnrecoverableError: unknown address)`,
          'Pending:',
          `  Placed ${retried} {"order":"retried"} after 1 failed (Error: warehouse closed): due in 3600000 ms, so advance() the clock`,
          'Dead:',
          `  Placed ${dead} {"order":"dead"}: UnrecoverableError: unknown address`,
        ].join('\n'),
      },
    )
    await rejects(outbox.waitFor('Unknown'), /Expected a "Unknown" event to be delivered within 50 ms/)
  })

  it('rejects at once when the outbox is closed', async (test) => {
    const outbox = await start(test)
    const rejected = rejects(outbox.waitFor(Placed), { code: 'OUTBOX_CLOSED' })
    await outbox.close()
    await rejected
  })
})

describe('a listener that does not return', () => {
  const stuck = (gate: Gate) => new RecordingListener(() => gate.passed)

  it('makes drain() name its event', async (test) => {
    const gate = new Gate()
    const listener = stuck(gate)
    const outbox = await start(test, listener, { timeLimitMs: 50 })
    const id = await place(outbox)
    await listener.called(1)
    await rejects(outbox.drain(), (error: Error) => {
      match(error.message, /^Expected everything that is due to be delivered within 50 ms/)
      match(error.message, new RegExp(`Placed ${id} {"order":"a"}: its listener has not returned`))
      return true
    })
    gate.open()
  })

  it('has its time limit tested by moving the clock alone', async (test) => {
    const listener = new RecordingListener(
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    const outbox = await start(test, listener, {
      listenerTimeoutMs: hourMs,
      retryPolicy: fixedDelay(hourMs),
    })
    await place(outbox)
    await listener.called(1)
    await outbox.clock.advance(hourMs)
    await outbox.drain()

    const [event] = await outbox.written()
    equal(event?.status, 'RETRY')
    match(event?.lastError ?? '', /took longer than its/)
  })

  it('does not keep close() from ending', async (test) => {
    const gate = new Gate()
    const listener = stuck(gate)
    const outbox = await start(test, listener, { timeLimitMs: 1 })
    await place(outbox)
    await listener.called(1)
    await outbox.close()
    notEqual((await outbox.written())[0]?.status, 'DONE')
    gate.open()
  })
})
