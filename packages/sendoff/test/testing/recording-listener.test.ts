import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineEvent } from '../../src/event/event-type.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { RecordingListener, testOutbox } from '../../src/testing/index.ts'

const Placed = defineEvent<{ readonly order: string }>('Placed')

describe('a recording listener', () => {
  it('records events, payloads and ids, and lets a test wait for calls', async (test) => {
    const listener = new RecordingListener<{ readonly order: string }>()
    const outbox = await testOutbox({ listeners: new ListenerRegistry().register(Placed, listener) })
    test.after(() => outbox.close())
    const calledTwice = listener.called(2)
    const ids = await outbox.transaction(() =>
      outbox.writeAll([Placed.of({ order: 'a' }), Placed.of({ order: 'b' })]),
    )

    await calledTwice
    await listener.called(1)
    deepEqual(listener.ids, ids)
    deepEqual(
      listener.payloads.map(({ order }) => order),
      ['a', 'b'],
    )
    equal(listener.events[0]?.eventType, 'Placed')
  })

  it('reacts as the test says, and records each call', async (test) => {
    const listener = new RecordingListener((_, { attempt }) => {
      if (attempt < 3) throw new Error('not yet')
    })
    const outbox = await testOutbox({
      listeners: new ListenerRegistry().register(Placed, listener),
      retryPolicy: fixedDelay(1_000),
    })
    test.after(() => outbox.close())
    await outbox.transaction(() => outbox.write(Placed, { order: 'a' }))
    await outbox.advance(2_000)

    equal(listener.events.length, 3)
    equal(new Set(listener.ids).size, 1)
  })

  it('lists the calls it got when calls are missing', async (test) => {
    const listener = new RecordingListener()
    const outbox = await testOutbox({ listeners: new ListenerRegistry().register(Placed, listener) })
    test.after(() => outbox.close())
    await rejects(listener.called(1, 1), {
      name: 'AssertionError',
      message: 'Expected 1 calls of the listener within 1 ms, but it was not called.',
    })

    const id = await outbox.transaction(() => outbox.write(Placed, { order: 'a' }))
    await outbox.drain()
    await rejects(listener.called(2, 1), {
      message: `Expected 2 calls of the listener within 1 ms, but there were 1:\n  Placed ${id} {"order":"a"}`,
    })
  })
})
