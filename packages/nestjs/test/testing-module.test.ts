import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Injectable, Module } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import type { EventEnvelope, EventWriter } from 'sendoff'
import type { MemoryTx } from 'sendoff/memory'
import { postgresStore } from 'sendoff/postgres'
import type { TestOutbox } from 'sendoff/testing'
import { getOutboxToken, InjectOutbox, OutboxListener, OutboxModule } from '@sendoff/nestjs'
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
