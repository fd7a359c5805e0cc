import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Inject,
  Injectable,
  type ModuleMetadata,
  type NestInterceptor,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common'
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, REQUEST } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import { map, tap } from 'rxjs'
import { BoundEventListener, DispatchResult, type EventEnvelope, type EventListener } from 'sendoff'
import { RecordingListener, type TestOutbox } from 'sendoff/testing'
import type { MemoryTx } from 'sendoff/memory'
import { getOutboxToken, OutboxFallback, OutboxListener, type OutboxRequest } from '@sendoff/nestjs'
import { OutboxTestingModule } from '@sendoff/nestjs/testing'
import { OrderPaid, OrderPlaced } from './order-events.ts'

describe('interceptors of a listener', () => {
  it('run around it, those of the class first, with what they inject', async (test) => {
    const steps: string[] = []

    @Injectable()
    class Prefix {
      readonly text = 'class'
    }

    @Injectable()
    class Audit implements NestInterceptor {
      readonly #prefix: Prefix

      constructor(prefix: Prefix) {
        this.#prefix = prefix
      }

      intercept(context: ExecutionContext, next: CallHandler) {
        const [event] = context.getArgs<[EventEnvelope]>()
        const where = `${context.getType()} ${context.getClass().name}.${context.getHandler().name}`
        steps.push(`${this.#prefix.text} before ${where} ${event.eventType}`)
        return next.handle().pipe(tap(() => steps.push('class after')))
      }
    }

    const timing: NestInterceptor = {
      intercept: async (_, next) => {
        steps.push('method before')
        return next.handle().pipe(map((result: unknown) => result))
      },
    }

    @Injectable()
    @UseInterceptors(Audit)
    class Shipping {
      @OutboxListener(OrderPlaced)
      @UseInterceptors(timing)
      book() {
        steps.push('book')
      }
    }

    const outbox = await outboxOf(test, { providers: [Shipping, Prefix] })
    await placeAndDrain(outbox)
    deepEqual(steps, [
      'class before outbox Shipping.book OrderPlaced',
      'method before',
      'book',
      'class after',
    ])
    deepEqual(outcomes(outbox), ['done'])
  })

  it('may keep it from running, and decide the outcome', async (test) => {
    const pause: NestInterceptor = {
      intercept: (_, next) => next.handle().pipe(map(() => DispatchResult.retryAfter(60_000))),
    }

    @Injectable()
    class Shipping {
      @OutboxListener(OrderPlaced)
      @UseInterceptors(pause)
      book() {}

      @OutboxListener(OrderPaid)
      @UseInterceptors({ intercept: () => Promise.reject(new Error('not today')) })
      send() {}
    }

    const outbox = await outboxOf(test, { providers: [Shipping] })
    await outbox.transaction(() => outbox.write(OrderPaid, { orderId: 'o-1' }))
    await placeAndDrain(outbox)
    deepEqual(outcomes(outbox).sort(), ['defer', 'retry'])
  })
})

describe('exception filters of a listener', () => {
  it('catch its errors: what they return is the result, and what they throw is the error', async (test) => {
    class Closed extends Error {}
    const steps: string[] = []

    @Catch(Closed)
    class Later implements ExceptionFilter {
      catch(_error: Closed, host: ArgumentsHost) {
        steps.push(`closed ${host.getType()} ${host.getArgByIndex<EventEnvelope>(0).eventType}`)
        return DispatchResult.retryAfter(60_000)
      }
    }

    @Catch()
    class Translated implements ExceptionFilter {
      catch(error: Error) {
        throw new Error(`translated: ${error.message}`)
      }
    }

    @Injectable()
    @UseFilters(Translated)
    class Shipping {
      @OutboxListener(OrderPlaced)
      @UseFilters(Later)
      book() {
        throw new Closed('until nine')
      }

      @OutboxListener(OrderPaid)
      @UseFilters(Later)
      send() {
        throw new Error('no stamps')
      }
    }

    const outbox = await outboxOf(test, { providers: [Shipping] })
    await placeAndDrain(outbox)
    await outbox.transaction(() => outbox.write(OrderPaid, { orderId: 'o-1' }))
    await outbox.drain()
    deepEqual(steps, ['closed outbox OrderPlaced'])
    deepEqual(outcomes(outbox), ['defer', 'retry'])
    equal((await outbox.written(OrderPaid))[0]?.lastError, 'Error: translated: no stamps')
  })

  it('and interceptors, guards and pipes that are global or of the class are not for listeners', async (test) => {
    const fail = () => Promise.reject(new Error('global'))
    const failing = { canActivate: () => false, intercept: fail, transform: fail }

    @Controller()
    @UseGuards(failing)
    @UsePipes(failing)
    class Shipping {
      @OutboxListener(OrderPlaced)
      book() {}

      @OutboxListener(OrderPaid)
      send() {
        throw new Error('no stamps')
      }
    }

    const outbox = await outboxOf(test, {
      controllers: [Shipping],
      providers: [
        { provide: APP_GUARD, useValue: failing },
        { provide: APP_PIPE, useValue: failing },
        { provide: APP_INTERCEPTOR, useValue: failing },
        { provide: APP_FILTER, useValue: { catch: () => 'swallowed' } },
      ],
    })
    await placeAndDrain(outbox)
    await outbox.transaction(() => outbox.write(OrderPaid, { orderId: 'o-1' }))
    await outbox.drain()
    deepEqual(outcomes(outbox), ['done', 'retry'])
  })
})

describe('a guard or a pipe of a listener', () => {
  for (const [name, decorator] of [
    ['@UseGuards', UseGuards({ canActivate: () => true })],
    ['@UsePipes', UsePipes({ transform: (value: unknown) => value })],
  ] as const) {
    it(`ends the start of the application, because it would not run: ${name}`, async (test) => {
      @Injectable()
      class Shipping {
        @OutboxListener(OrderPlaced)
        @decorator
        book() {}
      }
      await rejects(outboxOf(test, { providers: [Shipping] }), (error: Error) =>
        error.message.startsWith(`${name}() of Shipping.book is for requests, and does not run`),
      )
    })
  }
})

describe('a request-scoped listener', () => {
  it('has an instance of its own for each event, with the event as its request', async (test) => {
    const seen: string[] = []
    let instances = 0

    @Injectable({ scope: Scope.REQUEST })
    class Tenant {
      readonly name: string

      constructor(@Inject(REQUEST) { event, context }: OutboxRequest) {
        this.name = `${(event.payload as { orderId: string }).orderId} ${context?.attempt ?? 'fallback'}`
      }
    }

    @Injectable({ scope: Scope.REQUEST })
    class Shout implements NestInterceptor {
      readonly #tenant: Tenant

      constructor(tenant: Tenant) {
        this.#tenant = tenant
      }

      intercept(_: ExecutionContext, next: CallHandler) {
        seen.push(`interceptor ${this.#tenant.name}`)
        return next.handle()
      }
    }

    @Injectable()
    @UseInterceptors(Shout)
    class Shipping {
      readonly #tenant: Tenant

      constructor(tenant: Tenant) {
        this.#tenant = tenant
        instances += 1
      }

      @OutboxListener(OrderPlaced)
      book() {
        seen.push(this.#tenant.name)
      }

      @OutboxListener(OrderPaid)
      send() {
        throw new Error('no stamps')
      }

      @OutboxFallback(OrderPaid)
      apologise() {
        seen.push(`apologise ${this.#tenant.name}`)
      }
    }

    const outbox = await outboxOf(test, { providers: [Shipping, Tenant] }, { maxAttempts: 1, workerCount: 1 })
    await placeAndDrain(outbox, 'o-1')
    await placeAndDrain(outbox, 'o-2')
    await outbox.transaction(() => outbox.write(OrderPaid, { orderId: 'o-3' }))
    await outbox.drain()
    deepEqual(seen, [
      'interceptor o-1 1',
      'o-1 1',
      'interceptor o-2 1',
      'o-2 1',
      'interceptor o-3 1',
      'interceptor o-3 fallback',
      'apologise o-3 fallback',
    ])
    equal(instances, 4)
  })

  it('has an instance of its own for each batch, with all events of the batch as its request', async (test) => {
    const seen: unknown[] = []
    const idOf = ({ eventId }: EventEnvelope) => eventId

    @OutboxListener(OrderPlaced, { maxBatchSize: 2 })
    @Injectable({ scope: Scope.REQUEST })
    class Relay {
      readonly #request: OutboxRequest

      constructor(@Inject(REQUEST) request: OutboxRequest) {
        this.#request = request
      }

      onEvents(events: readonly EventEnvelope[]) {
        const { event, events: all, context } = this.#request
        seen.push([events.map(idOf), all.map(idOf), idOf(event), context?.attempt])
      }
    }

    const outbox = await outboxOf(test, { providers: [Relay] })
    const ids = await outbox.transaction(() =>
      outbox.writeAll([1, 2].map((total) => ({ type: OrderPlaced, payload: { orderId: 'o', total } }))),
    )
    await outbox.drain()
    deepEqual(seen, [[ids, ids, ids[0], 1]])
  })

  it('cannot be bound to its event, because the module starts before any event comes', async (test) => {
    @Injectable({ scope: Scope.REQUEST })
    class Shipping extends BoundEventListener {
      constructor() {
        super('Order', 'OrderPlaced')
      }

      onEvent() {}
    }
    await rejects(
      outboxOf(test, { providers: [Shipping] }),
      /The listener Shipping names no event: .*request-scoped.*Name the event in @OutboxListener\(\)/,
    )
  })
})

describe('a listener that a test overrides', () => {
  @OutboxListener(OrderPlaced)
  class Shipping implements EventListener {
    onEvent() {
      throw new Error('The real carrier must not be called.')
    }
  }

  it('leaves its events to the value in its place', async (test) => {
    const carrier = new RecordingListener<{ orderId: string }>()
    const application = await Test.createTestingModule({
      imports: [OutboxTestingModule.forRoot()],
      providers: [Shipping],
    })
      .overrideProvider(Shipping)
      .useValue(carrier)
      .compile()
    test.after(() => application.close())
    await application.init()
    const outbox = application.get<TestOutbox<MemoryTx>>(getOutboxToken())
    await placeAndDrain(outbox)
    deepEqual(carrier.payloads, [{ orderId: 'o-1', total: 1 }])
  })

  it('needs the method of the listener in its place', async (test) => {
    await rejects(
      outboxOf(test, { providers: [{ provide: Shipping, useValue: {} }] }),
      /A value takes the place of the listener Shipping, but it has no method onEvent\(\)/,
    )
  })

  it('may come from a factory', async (test) => {
    const outbox = await outboxOf(test, {
      providers: [{ provide: 'CARRIER', useFactory: () => new Shipping() }],
    })
    await placeAndDrain(outbox)
    deepEqual(outcomes(outbox), ['retry'])
  })
})

async function outboxOf(test: TestContext, metadata: ModuleMetadata, options: object = {}) {
  const application = await Test.createTestingModule({
    ...metadata,
    imports: [OutboxTestingModule.forRoot(options)],
  }).compile()
  await application.init()
  test.after(() => application.close())
  return application.get<TestOutbox<MemoryTx>>(getOutboxToken())
}

async function placeAndDrain(outbox: TestOutbox<MemoryTx>, orderId = 'o-1'): Promise<void> {
  await outbox.transaction(() => outbox.write(OrderPlaced, { orderId, total: 1 }))
  await outbox.drain()
}

function outcomes({ deliveries }: TestOutbox<MemoryTx>): string[] {
  return deliveries.map(({ outcome }) => outcome)
}
