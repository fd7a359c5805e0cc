import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Global, Module } from '@nestjs/common'
import { HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { Test } from '@nestjs/testing'
import { Registry } from 'prom-client'
import type { Outbox } from 'sendoff'
import { memoryStore, type MemoryTx } from 'sendoff/memory'
import {
  getOutboxToken,
  OUTBOX_METRICS_REGISTRY,
  OutboxHealthIndicator,
  OutboxListener,
  OutboxModule,
} from '@sendoff/nestjs'

class Shipping {
  @OutboxListener('OrderPlaced')
  book() {}
}

describe('metrics', () => {
  const registry = new Registry()

  @Global()
  @Module({
    providers: [{ provide: OUTBOX_METRICS_REGISTRY, useValue: registry }],
    exports: [OUTBOX_METRICS_REGISTRY],
  })
  class MetricsModule {}

  it('are on where a registry is provided, each outbox by its name', async (test) => {
    const application = await Test.createTestingModule({
      imports: [
        MetricsModule,
        OutboxModule.forRoot({ store: memoryStore() }),
        OutboxModule.forRoot({
          name: 'orders',
          store: memoryStore(),
          logger: false,
          config: { metrics: { prefix: 'shop', maxTypes: '1' } },
        }),
        OutboxModule.forRoot({
          name: 'quiet',
          store: memoryStore(),
          config: { metrics: { enabled: false } },
        }),
      ],
      providers: [Shipping],
    }).compile()
    test.after(() => application.close())
    await application.init()
    const outbox: Outbox<MemoryTx> = application.get(getOutboxToken())
    await outbox.transaction(() => outbox.write('OrderPlaced', {}))
    await outbox.drain()
    const orders: Outbox<MemoryTx> = application.get(getOutboxToken('orders'))
    await orders.transaction(async () => {
      for (const type of ['A', 'B', 'C']) await orders.write(type, {})
    })
    await orders.drain()
    const text = await registry.metrics()
    match(text, /^outbox_deliveries_total\{outbox="default",type="OrderPlaced",.*outcome="done"\} 1$/m)
    match(text, /^shop_deliveries_total\{outbox="orders",type="A",.*outcome="dead"\} 1$/m)
    match(text, /^shop_deliveries_total\{outbox="orders",type="other",.*outcome="dead"\} 2$/m)
    equal(text.includes('quiet'), false)
  })
})

describe('metrics of a registry that the root module has as a value', () => {
  it('are on, although it exports nothing', async (test) => {
    const registry = new Registry()

    @Module({
      imports: [OutboxModule.forRoot({ store: memoryStore() })],
      providers: [Shipping, { provide: OUTBOX_METRICS_REGISTRY, useValue: registry }],
    })
    class Shop {}

    const application = await Test.createTestingModule({ imports: [Shop] }).compile()
    test.after(() => application.close())
    await application.init()
    match(await registry.metrics(), /^outbox_dispatch_success_total\{outbox="default"\} 0$/m)
  })
})

describe('the reports of an outbox', () => {
  it('go to the logger of the application, with the name of the outbox as their context', async (test) => {
    const told: unknown[][] = []
    const tell = (...line: unknown[]) => void told.push(line)

    class Doomed {
      @OutboxListener('OrderPlaced', { outbox: 'orders' })
      ship() {
        throw new Error('the carrier does not answer')
      }
    }
    const application = await Test.createTestingModule({
      imports: [OutboxModule.forRoot({ name: 'orders', store: memoryStore(), maxAttempts: 1 })],
      providers: [Doomed],
    })
      .setLogger({ log: tell, warn: tell, error: tell })
      .compile()
    test.after(() => application.close())
    await application.init()
    const outbox: Outbox<MemoryTx> = application.get(getOutboxToken('orders'))
    const id = await outbox.transaction(() => outbox.write('OrderPlaced', {}))
    await outbox.drain()
    const report = told.find(([message]) => String(message).includes('is DEAD'))
    deepEqual(
      [report?.[0], report?.at(-1)],
      [`Event ${id} (OrderPlaced) is DEAD: Error: the carrier does not answer`, 'Outbox orders'],
    )
  })
})

describe('the health indicator', () => {
  it('tells terminus whether an outbox is ready', async (test) => {
    const application = await Test.createTestingModule({
      imports: [
        TerminusModule.forRoot({ logger: false }),
        OutboxModule.forRoot({ store: memoryStore(), autoStart: false }),
        OutboxModule.forRoot({ name: 'orders', store: memoryStore() }),
      ],
    }).compile()
    test.after(() => application.close())
    await application.init()
    const health = application.get(HealthCheckService)
    const indicator = application.get(OutboxHealthIndicator)
    const check = () =>
      health
        .check([
          () => indicator.isHealthy('outbox'),
          () => indicator.isHealthy('orders', { outbox: 'orders' }),
          () => indicator.isHealthy('alive', { probe: 'live' }),
        ])
        .catch((error: { getResponse(): unknown }) => error.getResponse()) as Promise<{
        status: string
        error: Record<string, { problems: readonly string[] }>
        details: Record<string, { status: string }>
      }>

    const before = await check()
    equal(before.status, 'error')
    deepEqual(before.error['outbox']?.problems, ['The outbox is not started: it is new.'])
    deepEqual(
      Object.entries(before.details).map(([key, { status }]) => [key, status]),
      [
        ['orders', 'up'],
        ['alive', 'up'],
        ['outbox', 'down'],
      ],
    )
    await application.get<Outbox<MemoryTx>>(getOutboxToken()).start()
    equal((await check()).status, 'ok')
    await application.close()
    deepEqual(await indicator.isHealthy('outbox').then(({ outbox }) => outbox.status), 'down')
  })
})
