import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Controller, Injectable, type ModuleMetadata } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import {
  BoundEventListener,
  type BatchEventListener,
  type DispatchContext,
  type EventEnvelope,
  type EventListener,
  type FinalFailure,
  fixedDelay,
  type Outbox,
  type RetryPolicy,
  UnrecoverableError,
} from 'sendoff'
import { memoryStore, type MemoryTx } from 'sendoff/memory'
import {
  getOutboxToken,
  InjectOutbox,
  OutboxFallback,
  OutboxListener,
  OutboxModule,
  OutboxRetryable,
} from '@sendoff/nestjs'
import { OrderPaid, OrderPlaced } from './order-events.ts'

describe('listeners of an application', () => {
  it('are methods of providers and controllers, each with its event', async (test) => {
    const calls: string[] = []

    @Injectable()
    class Shipping {
      readonly #name = 'shipping'

      @OutboxListener(OrderPlaced)
      async book(event: EventEnvelope<{ orderId: string }>, { attempt }: DispatchContext) {
        calls.push(`${this.#name} ${event.payload.orderId} ${attempt}`)
      }

      @OutboxListener({ eventType: 'OrderPaid', aggregateType: 'Order' })
      send(event: EventEnvelope) {
        calls.push(`sent ${event.eventType}`)
      }
    }

    @Controller()
    class Invoices {
      @OutboxListener('InvoiceWanted')
      @OutboxListener('ReminderWanted')
      issue(event: EventEnvelope) {
        calls.push(event.eventType)
      }
    }

    const outbox = await outboxOf(test, { providers: [Shipping], controllers: [Invoices] })
    await outbox.transaction(async () => {
      await outbox.write(OrderPlaced, { orderId: 'o-1', total: 1 })
      await outbox.write(OrderPaid, { orderId: 'o-1' })
      await outbox.write('InvoiceWanted', {})
      await outbox.write('ReminderWanted', {})
    })
    await outbox.drain()
    deepEqual(calls.sort(), ['InvoiceWanted', 'ReminderWanted', 'sent OrderPaid', 'shipping o-1 1'])
  })

  it('are classes with onEvent, with onEvents, or bound to their event', async (test) => {
    const calls: string[] = []

    @OutboxListener(OrderPlaced)
    class Shipping implements EventListener<{ orderId: string }> {
      onEvent(event: EventEnvelope<{ orderId: string }>) {
        calls.push(`shipping ${event.payload.orderId}`)
      }
    }

    @OutboxListener(['PageViewed', 'PageLeft'])
    class Relay implements BatchEventListener {
      onEvents(events: readonly EventEnvelope[]) {
        calls.push(...events.map(({ eventType }) => `relay ${eventType}`))
      }
    }

    class Billing extends BoundEventListener {
      constructor() {
        super('Order', 'OrderPaid')
      }

      onEvent(event: EventEnvelope) {
        calls.push(`billing ${event.eventType}`)
      }
    }

    @OutboxListener('*')
    class Rest implements EventListener {
      onEvent(event: EventEnvelope) {
        calls.push(`rest ${event.eventType}`)
      }
    }

    const outbox = await outboxOf(test, { providers: [Shipping, Relay, Billing, Rest] })
    await outbox.transaction(async () => {
      await outbox.write(OrderPlaced, { orderId: 'o-1', total: 1 })
      await outbox.write(OrderPaid, { orderId: 'o-1' })
      await outbox.write('PageViewed', {})
      await outbox.write('Other', {})
    })
    await outbox.drain()
    deepEqual(calls.sort(), ['billing OrderPaid', 'relay PageViewed', 'rest Other', 'shipping o-1'])
  })

  it('have a fallback and a retry policy of their own', async (test) => {
    const calls: string[] = []

    @Injectable()
    class Twice implements RetryPolicy {
      readonly maxAttempts = 2
      computeDelayMs() {
        return 1
      }
    }

    @Injectable()
    @OutboxRetryable(fixedDelay(1, { maxAttempts: 3 }))
    class Shipping {
      @OutboxListener(OrderPlaced)
      @OutboxRetryable(Twice)
      book() {
        calls.push('book')
        throw new Error('The carrier is closed.')
      }

      @OutboxListener(OrderPaid)
      send() {
        calls.push('send')
        throw new Error('The carrier is closed.')
      }

      @OutboxListener('Refused')
      refuse() {
        throw new UnrecoverableError('No.')
      }

      @OutboxFallback(OrderPlaced)
      async apologise(event: EventEnvelope<{ orderId: string }>, { attempts, reason }: FinalFailure) {
        calls.push(`apologise ${event.payload.orderId} ${attempts} ${reason}`)
      }

      @OutboxFallback()
      giveUp(event: EventEnvelope, { attempts }: FinalFailure) {
        calls.push(`give up ${event.eventType} ${attempts}`)
      }
    }

    const outbox = await outboxOf(test, { providers: [Shipping, Twice] })
    const done = counted(outbox, 3)
    await outbox.transaction(async () => {
      await outbox.write(OrderPlaced, { orderId: 'o-1', total: 1 })
      await outbox.write(OrderPaid, { orderId: 'o-1' })
      await outbox.write('Refused', {})
    })
    await done
    deepEqual(calls.filter((call) => call === 'book').length, 2)
    deepEqual(calls.filter((call) => call === 'send').length, 3)
    deepEqual(calls.filter((call) => call.includes(' ')).sort(), [
      'apologise o-1 2 exhausted',
      'give up OrderPaid 3',
      'give up Refused 0',
    ])
    equal(await outbox.deadEvents.count(), 0)

    async function counted(of: Outbox<MemoryTx>, count: number) {
      while (calls.filter((call) => call.includes(' ')).length < count) {
        await of.drain()
        await new Promise((resolve) => setImmediate(resolve))
      }
      await of.drain()
    }
  })

  it('belong to the outbox that they name', async (test) => {
    const calls: string[] = []

    @Injectable()
    class Shipping {
      readonly orders: Outbox<MemoryTx>

      constructor(@InjectOutbox('orders') orders: Outbox<MemoryTx>) {
        this.orders = orders
      }

      @OutboxListener(OrderPlaced, { outbox: 'orders' })
      book() {
        calls.push('orders')
      }

      @OutboxListener(OrderPlaced)
      audit() {
        calls.push('default')
      }
    }

    @OutboxListener({ outbox: 'orders' })
    class Billing extends BoundEventListener {
      constructor() {
        super('Order', 'OrderPaid')
      }

      onEvent() {
        calls.push('billing of orders')
      }
    }

    const application = await Test.createTestingModule({
      imports: [
        OutboxModule.forRoot({ store: memoryStore() }),
        OutboxModule.forRoot({ name: 'orders', mode: 'MULTI_NODE', store: memoryStore() }),
      ],
      providers: [Shipping, Billing],
    }).compile()
    await application.init()
    test.after(() => application.close())
    for (const name of [undefined, 'orders']) {
      const outbox: Outbox<MemoryTx> = application.get(getOutboxToken(name))
      await outbox.transaction(() => outbox.write(OrderPlaced, { orderId: 'o-1', total: 1 }))
      await outbox.drain()
    }
    const orders = application.get(Shipping).orders
    await orders.transaction(() => orders.write(OrderPaid, { orderId: 'o-1' }))
    await orders.drain()
    deepEqual(calls, ['default', 'orders', 'billing of orders'])
    equal(application.get(Shipping).orders, application.get(getOutboxToken('orders')))
  })

  it('deliver to their destination', async (test) => {
    const calls: string[] = []

    @Injectable()
    class Relays {
      @OutboxListener(OrderPlaced, { destination: 'kafka' })
      toKafka() {
        calls.push('kafka')
      }

      @OutboxListener({ eventType: 'OrderPlaced', aggregateType: 'Order', destination: 'mail' })
      toMail() {
        calls.push('mail')
      }
    }

    @OutboxListener({ eventType: 'OrderPlaced', aggregateType: 'Order', destination: 'search' })
    class Search implements EventListener {
      onEvent() {
        calls.push('search')
      }
    }

    const outbox = await outboxOf(
      test,
      { providers: [Relays, Search] },
      {
        routing: {
          version: 1,
          destinations: { kafka: {}, mail: {}, search: {} },
          rules: [
            { to: 'kafka', events: [OrderPlaced] },
            { to: 'mail', events: [OrderPlaced] },
            { to: 'search', events: [OrderPlaced] },
          ],
        },
      },
    )
    await outbox.transaction(() => outbox.write(OrderPlaced, { orderId: 'o-1', total: 1 }))
    await outbox.drain()
    deepEqual(calls.sort(), ['kafka', 'mail', 'search'])
  })

  it('are found once, however many tokens and modules lead to them', async (test) => {
    let calls = 0

    @Injectable()
    class Shipping {
      @OutboxListener(OrderPlaced)
      book() {
        calls += 1
      }
    }

    const outbox = await outboxOf(test, {
      providers: [Shipping, { provide: 'ALIAS', useExisting: Shipping }],
    })
    await outbox.transaction(() => outbox.write(OrderPlaced, { orderId: 'o-1', total: 1 }))
    await outbox.drain()
    equal(calls, 1)
  })
})

describe('a mistake in a listener ends the start of the application:', () => {
  it('two listeners for one event', async (test) => {
    @Injectable()
    class Shipping {
      @OutboxListener(OrderPlaced)
      book() {}

      @OutboxListener(OrderPlaced)
      bookAgain() {}
    }
    await rejects(outboxOf(test, { providers: [Shipping] }), { code: 'OUTBOX_DUPLICATE_LISTENER' })
  })

  it('an outbox that does not exist', async (test) => {
    @Injectable()
    class Shipping {
      @OutboxListener(OrderPlaced, { outbox: 'order' })
      book() {}
    }
    await rejects(
      outboxOf(test, { providers: [Shipping] }),
      /Shipping listens to the outbox "order", but the application has none of this name/,
    )
  })

  it('a fallback without a listener', async (test) => {
    @Injectable()
    class Shipping {
      @OutboxListener(OrderPlaced)
      book() {}

      @OutboxFallback(OrderPaid)
      apologise() {}
    }
    await rejects(
      outboxOf(test, { providers: [Shipping] }),
      /Shipping.apologise is the fallback for the event "OrderPaid", but Shipping has no listener for it/,
    )
  })

  it('a retry policy that is not provided', async (test) => {
    @Injectable()
    class Shipping {
      @OutboxListener(OrderPlaced)
      @OutboxRetryable('PATIENCE')
      book() {}
    }
    await rejects(outboxOf(test, { providers: [Shipping] }), /@OutboxRetryable\(PATIENCE\) of Shipping/)
  })

  it('a class without onEvent', async (test) => {
    class Shipping {}
    ;(OutboxListener('Any') as ClassDecorator)(Shipping)
    await rejects(outboxOf(test, { providers: [Shipping] }), (error: Error) => {
      match(error.message, /The class Shipping has @OutboxListener\(\), but no method onEvent/)
      return true
    })
  })

  it('two outboxes of one name', async () => {
    const imports = [
      OutboxModule.forRoot({ store: memoryStore() }),
      OutboxModule.forRoot({ store: memoryStore() }),
    ]
    await rejects(
      Test.createTestingModule({ imports }).compile(),
      /The application has two outboxes of the name "default"/,
    )
  })
})

type Options = Omit<Parameters<typeof OutboxModule.forRoot<MemoryTx>>[0], 'store' | 'mode'>

/** Starts an application with these listeners, and returns its outbox. */
async function outboxOf(test: TestContext, metadata: ModuleMetadata, options: Options = {}) {
  const application = await Test.createTestingModule({
    ...metadata,
    imports: [OutboxModule.forRoot<MemoryTx>({ ...options, store: memoryStore(), logger: false })],
  }).compile()
  await application.init()
  test.after(() => application.close())
  return application.get<Outbox<MemoryTx>>(getOutboxToken())
}
