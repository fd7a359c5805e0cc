import { deepEqual, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Module } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import type { Outbox } from 'sendoff'
import { memoryStore, type MemoryTx } from 'sendoff/memory'
import { getOutboxToken, OutboxListener, OutboxModule, OutboxWorkerModule } from '@sendoff/nestjs'

describe('a worker in an application', () => {
  it('starts after the outbox, and closes before it and before what it uses', async () => {
    const steps: string[] = []

    class Shipping {
      @OutboxListener('Imported')
      ship() {
        steps.push('delivered')
      }

      onApplicationBootstrap() {
        steps.push('application started')
      }

      onApplicationShutdown() {
        steps.push('connection closed')
      }
    }

    @Module({
      imports: [
        OutboxWorkerModule.register({
          provide: 'IMPORTER',
          inject: [getOutboxToken()],
          useFactory: (outbox: Outbox<MemoryTx>) => ({
            async start() {
              steps.push('worker started')
              await outbox.transaction(() => outbox.write('Imported', 1))
            },
            async close() {
              // The outbox still takes what the worker has under way.
              await outbox.transaction(() => outbox.write('Imported', 2))
              steps.push('worker closed')
            },
          }),
        }),
        OutboxModule.forRoot({ store: memoryStore(), logger: false }),
      ],
      providers: [Shipping],
    })
    class Shop {}

    const application = await Test.createTestingModule({ imports: [Shop] }).compile()
    await application.init()
    await application.get<Outbox<MemoryTx>>(getOutboxToken()).drain()
    await application.close()
    deepEqual(
      steps.filter((step) => step !== 'delivered'),
      ['application started', 'worker started', 'worker closed', 'connection closed'],
    )
    deepEqual(steps.indexOf('connection closed'), steps.length - 1, String(steps))
  })

  it('that cannot start keeps the application from starting, and is closed', async () => {
    let isClosed = false
    const application = await Test.createTestingModule({
      imports: [
        OutboxWorkerModule.register({
          provide: 'WORKER',
          useFactory: () => ({
            start: () => Promise.reject(new Error('no broker')),
            close: async () => void (isClosed = true),
          }),
        }),
      ],
    }).compile()
    await rejects(application.init(), /no broker/)
    deepEqual(isClosed, true)
  })
})
