import { match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { memoryStore } from 'sendoff/memory'
import { OutboxModule } from '@sendoff/nestjs'
import { OutboxDashboardModule } from '@sendoff/nestjs/dashboard'
import { LoginGuard, useDashboard, visitorOf } from './mounted-dashboard.ts'

describe('the dashboard in an application on Fastify', () => {
  it('stands behind its guard, acts, streams, and ends with the application', async () => {
    @Module({
      imports: [
        OutboxModule.forRoot({ store: memoryStore(), logger: false }),
        OutboxDashboardModule.forRoot({ path: 'ops/outbox', guards: [LoginGuard], authorize: visitorOf }),
      ],
    })
    class Shop {}

    const application = await NestFactory.create<NestFastifyApplication>(Shop, new FastifyAdapter(), {
      logger: false,
    })
    const stream = await useDashboard(application, '/ops/outbox')
    await application.close()
    match(await stream.text(), /^retry: 3000\n\nevent: state/)
  })
})
