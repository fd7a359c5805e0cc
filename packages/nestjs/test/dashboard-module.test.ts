import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Injectable, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import type { Outbox } from 'sendoff'
import { outboxAdmin } from 'sendoff/admin'
import { memoryStore, type MemoryTx } from 'sendoff/memory'
import { getOutboxToken, OutboxModule } from '@sendoff/nestjs'
import { OutboxDashboardModule } from '@sendoff/nestjs/dashboard'
import { LoginGuard, useDashboard, visitorOf } from './mounted-dashboard.ts'

describe('the dashboard in an application', () => {
  it('stands behind its guard, acts in the name of the user, and ends its live pages with the application', async () => {
    const store = memoryStore()

    @Module({
      imports: [
        OutboxModule.forRoot({ store, logger: false }),
        OutboxDashboardModule.forRoot({ path: 'ops/outbox', guards: [LoginGuard], authorize: visitorOf }),
      ],
    })
    class Shop {}

    const application = await NestFactory.create(Shop, { logger: false })
    const stream = await useDashboard(application, '/ops/outbox')
    const outbox: Outbox<MemoryTx> = application.get(getOutboxToken())
    deepEqual(await outbox.paused(), [{ eventType: 'OrderPaid' }])
    const { entries } = await outboxAdmin({ store }).audit.list()
    deepEqual(
      entries.map(({ action, actor }) => [action, actor]),
      [['pause', 'ann']],
    )
    // A server waits for open connections: an open page would hold the application up for ever.
    await application.close()
    match(await stream.text(), /^retry: 3000\n\nevent: state/)
  })

  it('takes settings from other providers, several outboxes, and guards of the whole application', async (test) => {
    @Injectable()
    class Roles {
      roleOf(user: string): 'admin' | undefined {
        return user === 'ann' ? 'admin' : undefined
      }
    }
    @Module({ providers: [Roles], exports: [Roles] })
    class RolesModule {}

    @Module({
      imports: [
        OutboxModule.forRoot({ store: memoryStore(), logger: false }),
        OutboxModule.forRoot({ name: 'partners', store: memoryStore(), logger: false }),
        OutboxDashboardModule.forRootAsync({
          outboxes: ['default', 'partners'],
          imports: [RolesModule],
          inject: [Roles],
          useFactory: (roles: Roles) => ({
            basePath: '/v1/outbox',
            admins: { mails: outboxAdmin({ store: memoryStore() }) },
            authorize: ({ user }: { user: string }) => {
              const role = roles.roleOf(user)
              return role && { actor: user, role }
            },
          }),
        }),
      ],
      providers: [{ provide: APP_GUARD, useClass: LoginGuard }],
    })
    class Shop {}

    const application = await NestFactory.create(Shop, { logger: false })
    test.after(() => application.close())
    application.setGlobalPrefix('v1')
    await application.listen(0, '127.0.0.1')
    const { port } = (application.getHttpServer() as { address(): { port: number } }).address()
    const session = (user?: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/v1/outbox/api/session`, {
        headers: { ...(user !== undefined && { 'x-user': user }) },
      })
    deepEqual([(await session()).status, (await session('bob')).status], [403, 401])
    const { outboxes } = (await (await session('ann')).json()) as { outboxes: string[] }
    deepEqual(outboxes, ['default', 'partners', 'mails'])
    equal((await fetch(`http://127.0.0.1:${port}/outbox`)).status, 404)
  })
})
