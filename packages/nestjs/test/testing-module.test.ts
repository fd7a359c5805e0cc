import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Injectable, Module } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { type EventEnvelope, type EventWriter, ListenerRegistry, type Outbox } from 'sendoff'
import { memoryStore, type MemoryTx } from 'sendoff/memory'
import { postgresStore } from 'sendoff/postgres'
import type { TestOutbox } from 'sendoff/testing'
import {
  getListenerRegistryToken,
  getOutboxOptionsToken,
  getOutboxToken,
  InjectOutbox,
  OutboxListener,
  OutboxModule,
  type ResolvedOptions,
} from '@sendoff/nestjs'
import { OutboxTestingModule, useTestOutbox } from '@sendoff/nestjs/testing'
import { OrderPlaced } from './order-events.ts'

@Injectable()
class Orders {
  readonly shipped: string[] = []
  readonly #events: EventWriter

  constructor(@InjectOutbox() events: EventWriter) {
    this.#events = events
  }

  place(orderId: string) {
    return this.#events.transaction(() =>
      this.#events.write(OrderPlaced, { orderId, total: 1 }, { deliverAfterMs: 60_000 }),
    )
  }

  @OutboxListener(OrderPlaced)
  ship(event: EventEnvelope<{ orderId: string }>) {
    this.shipped.push(event.payload.orderId)
  }
}

describe('OutboxTestingModule', () => {
  it('has the listeners of the application, and a clock that the test moves', async (test) => {
    const application = await Test.createTestingModule({
      imports: [OutboxTestingModule.forRoot()],
      providers: [Orders],
    }).compile()
    test.after(() => application.close())
    await application.init()
    const outbox = application.get<TestOutbox<MemoryTx>>(getOutboxToken())
    const orders = application.get(Orders)
    await orders.place('o-1')
    await outbox.advance(59_999)
    deepEqual(orders.shipped, [])
    await outbox.advance(1)
    deepEqual(orders.shipped, ['o-1'])
  })
})

describe('a provider of the module that a test overrides', () => {
  it('may be the options, the registry of listeners, or the outbox itself', async (test) => {
    const heard: string[] = []
    const store = memoryStore()
    const listeners = new ListenerRegistry().register(
      'Heard',
      (event) => void heard.push(String(event.payload)),
    )
    const options: ResolvedOptions = {
      mode: 'MULTI_NODE',
      autoStart: true,
      options: { store: store as never, maxAttempts: 1 },
    }
    const application = await Test.createTestingModule({
      imports: [
        OutboxModule.forRoot({ store: memoryStore() }),
        OutboxModule.forRoot({ name: 'mute', store: memoryStore() }),
      ],
      providers: [Orders],
    })
      .overrideProvider(getOutboxOptionsToken())
      .useValue(options)
      .overrideProvider(getListenerRegistryToken())
      .useValue(listeners)
      .overrideProvider(getOutboxToken('mute'))
      .useValue({ start: async () => heard.push('mute starts'), close: async () => {} })
      .compile()
    test.after(() => application.close())
    await application.init()
    const outbox: Outbox<MemoryTx> = application.get(getOutboxToken())
    await outbox.transaction(() => outbox.write('Heard', 'o-1'))
    await outbox.drain()
    deepEqual(heard.sort(), ['mute starts', 'o-1'])
    const [process] = await store.reports.living()
    equal(process?.mode, 'multiNode')
  })
})

describe('useTestOutbox', () => {
  it('replaces the outbox of a whole application, and its database is not touched', async (test) => {
    let connections = 0

    @Module({
      imports: [
        OutboxModule.forRootAsync({
          useFactory: () => {
            connections += 1
            const client = { query: () => Promise.reject(new Error('no database')) }
            return { store: postgresStore({ client: client as never }) }
          },
        }),
      ],
      providers: [Orders],
    })
    class Shop {}

    const application = await useTestOutbox(Test.createTestingModule({ imports: [Shop] })).compile()
    test.after(() => application.close())
    await application.init()
    const outbox = application.get<TestOutbox<MemoryTx>>(getOutboxToken())
    await application.get(Orders).place('o-2')
    await outbox.advance(60_000)
    deepEqual(application.get(Orders).shipped, ['o-2'])
    equal((await outbox.written(OrderPlaced))[0]?.status, 'DONE')
    equal(connections, 0)
  })
})
