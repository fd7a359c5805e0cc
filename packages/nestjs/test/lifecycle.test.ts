import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  Controller,
  Get,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import { type EventWriter, Outbox } from 'sendoff'
import { memoryStore, type MemoryTx } from 'sendoff/memory'
import { getOutboxToken, InjectOutbox, OutboxListener, OutboxModule } from '@sendoff/nestjs'
import { nodeArguments } from '../../../test/decorators/node-arguments.ts'
import { OrderPlaced } from './order-events.ts'

describe('an outbox in an application', () => {
  it('delivers only when all modules have started, and closes before they shut down', async () => {
    const steps: string[] = []
    const store = memoryStore()
    const earlier = await Outbox.writerOnly({ store }).start()
    await earlier.transaction(() => earlier.write(OrderPlaced, { orderId: 'o-1', total: 1 }))
    const delivered = Promise.withResolvers<void>()

    @Injectable()
    class Shipping implements OnApplicationBootstrap, OnApplicationShutdown {
      async onApplicationBootstrap() {
        steps.push('starting')
        // Long enough for a poll of an outbox that has started already.
        for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
        steps.push('started')
      }

      @OutboxListener(OrderPlaced)
      async book() {
        steps.push('delivering')
        delivered.resolve()
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
        steps.push('delivered')
      }

      onApplicationShutdown() {
        steps.push('shut down')
      }
    }

    @Module({ providers: [Shipping] })
    class ShippingModule {}

    const application = await Test.createTestingModule({
      imports: [OutboxModule.forRoot({ store }), ShippingModule],
      providers: [{ provide: 'ROOT', useClass: Shipping }],
    })
      .overrideProvider('ROOT')
      .useValue({
        onApplicationBootstrap: () => void steps.push('root started'),
        onApplicationShutdown: () => void steps.push('root shut down'),
      })
      .compile()
    await application.init()
    await delivered.promise
    await application.close()
    deepEqual(steps, [
      'starting',
      'started',
      'root started',
      'delivering',
      'delivered',
      'root shut down',
      'shut down',
    ])
  })

  it('takes events of requests that are under way when the application closes', async () => {
    const answering = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const delivered: string[] = []

    @Controller()
    class Orders {
      readonly #events: EventWriter<MemoryTx>

      constructor(@InjectOutbox() events: EventWriter<MemoryTx>) {
        this.#events = events
      }

      @Get()
      async place() {
        answering.resolve()
        await goOn.promise
        await this.#events.transaction(() => this.#events.write(OrderPlaced, { orderId: 'o-1', total: 1 }))
        return 'placed'
      }

      @OutboxListener(OrderPlaced)
      book() {
        delivered.push('o-1')
      }
    }

    @Module({ imports: [OutboxModule.forRoot({ store: memoryStore() })], controllers: [Orders] })
    class Shop {
      // While it waits, the server still answers.
      beforeApplicationShutdown() {
        goOn.resolve()
      }
    }

    const application = await NestFactory.create(Shop, { logger: false })
    await application.listen(0, '127.0.0.1')
    const { port } = (application.getHttpServer() as { address(): { port: number } }).address()
    const answer = fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
    await answering.promise
    await application.close()
    equal(await (await answer).text(), 'placed')
    deepEqual(delivered, ['o-1'])
  })

  it('starts when told, with autoStart: false', async (test) => {
    const application = await Test.createTestingModule({
      imports: [OutboxModule.forRoot({ store: memoryStore(), autoStart: false, logger: false })],
    }).compile()
    test.after(() => application.close())
    await application.init()
    const outbox: Outbox<MemoryTx> = application.get(getOutboxToken())
    await rejects(
      outbox.transaction(() => outbox.write('Any', 1)),
      { code: 'OUTBOX_NOT_STARTED' },
    )
    await outbox.start()
    await outbox.transaction(() => outbox.write('Any', 1))
  })

  it('that cannot start keeps the application from starting, and closes', async () => {
    const store = memoryStore()
    store.migrate = () => Promise.reject(new Error('no rights'))
    let isClosed = false
    store.close = async () => void (isClosed = true)
    const application = await Test.createTestingModule({
      imports: [OutboxModule.forRoot({ store })],
    }).compile()
    await rejects(application.init(), { code: 'OUTBOX_STORE_FAILED' })
    equal(isClosed, true)
  })

  for (const end of ['close', 'SIGTERM'] as const) {
    it(`leaves nothing behind that keeps the process alive, after ${end}`, async () => {
      const program = join(import.meta.dirname, 'shop-process.ts')
      const shop = spawn(process.execPath, [...nodeArguments('@Module()'), program, end], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let output = ''
      shop.stdout.on('data', (text: Buffer) => {
        output += text.toString()
        if (end === 'SIGTERM' && output.includes('started\n')) shop.kill('SIGTERM')
      })
      const [code, signal] = (await once(shop, 'close')) as [number | null, string | null]
      deepEqual([code, signal], end === 'close' ? [0, null] : [null, 'SIGTERM'])
      match(output, /^started\n(?:.*\n)*delivered 20\n$/)
    })
  }
})
