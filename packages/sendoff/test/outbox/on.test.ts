import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EventEnvelope } from '../../src/event/event-envelope.ts'
import { defineEvent } from '../../src/event/event-type.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { BoundEventListener } from '../../src/route/event-listener.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { testOutbox } from '../../src/testing/index.ts'

const Placed = defineEvent<{ readonly orderId: string }>('Placed', { aggregateType: 'Order' })
const modes = ['singleNode', 'multiNode', 'singleWriter', 'ordered', 'partitioned'] as const

class ClosedListener extends BoundEventListener {
  readonly #heard: unknown[]

  constructor(heard: unknown[]) {
    super('Order', 'Closed')
    this.#heard = heard
  }

  onEvent(event: EventEnvelope): void {
    this.#heard.push(event.eventType)
  }
}

describe('outbox.on', () => {
  for (const mode of modes) {
    it(`registers listeners of an outbox without a registry: ${mode}`, async (test) => {
      const heard: unknown[] = []
      const outbox = Outbox[mode]({ store: memoryStore(), logger: false })
      test.after(() => outbox.close())
      const same = outbox
        .on(Placed, (event) => void heard.push(event.payload.orderId))
        .on('Order', 'Paid', (event) => void heard.push(event.payload))
        .on(['Sent', 'Lost'], (event) => void heard.push(event.eventType))
        .on(new ClosedListener(heard))
      equal(same, outbox)
      await outbox.start()

      await outbox.transaction(async () => {
        await outbox.write(Placed, { orderId: 'o-1' })
        await outbox.write('Paid', 'paid', { aggregateType: 'Order' })
        await outbox.write('Sent', 1)
        await outbox.write('Closed', 1, { aggregateType: 'Order' })
      })
      await outbox.drain()
      deepEqual(heard.toSorted(), ['Closed', 'Sent', 'o-1', 'paid'])
    })
  }

  it('registers in the registry that the outbox was given', () => {
    const listeners = new ListenerRegistry()
    const outbox = Outbox.multiNode({ store: memoryStore(), listeners })
    const listener = { onEvent: () => {} }
    outbox.on(Placed, listener)
    equal(listeners.listenerFor('Order', 'Placed'), listener)
    throws(() => outbox.on(Placed, listener), { code: 'OUTBOX_DUPLICATE_LISTENER' })
    throws(() => outbox.on('' as 'Placed', listener), { code: 'OUTBOX_INVALID_OPTION' })
  })

  it('delivers at once the events that waited for the listener', async (test) => {
    const outbox = await Outbox.multiNode({
      store: memoryStore(),
      onUnroutable: 'defer',
      // The interval is never over here.
      poller: { intervalMs: 600_000, busyIntervalMs: 600_000 },
      logger: false,
    }).start()
    test.after(() => outbox.close())
    await outbox.transaction(() => outbox.write(Placed, { orderId: 'o-1' }))
    await outbox.drain()

    const heard = await new Promise((resolve) => {
      outbox.on(Placed, (event) => resolve(event.payload.orderId))
    })
    equal(heard, 'o-1')
  })

  it('uses the options of the listener', async () => {
    const outbox = await testOutbox({ logger: false })
    outbox.on(
      Placed,
      () => {
        throw new Error('no')
      },
      { retry: fixedDelay(1_000, { maxAttempts: 2 }) },
    )
    await outbox.transaction(() => outbox.write(Placed, { orderId: 'o-1' }))
    await outbox.advance(10_000)
    equal(outbox.deliveries.length, 2)
    equal(await outbox.deadEvents.count(), 1)
    await outbox.close()
  })

  it('leaves events without a listener to the test outbox, which takes every event', async () => {
    const outbox = await testOutbox()
    const heard: string[] = []
    outbox.on(Placed, (event) => void heard.push(event.payload.orderId))
    await outbox.transaction(async () => {
      await outbox.write(Placed, { orderId: 'o-1' })
      await outbox.write('Other', 1)
    })
    await outbox.drain()
    deepEqual(heard, ['o-1'])
    equal(outbox.deliveries.length, 2)
    await outbox.close()
  })
})
