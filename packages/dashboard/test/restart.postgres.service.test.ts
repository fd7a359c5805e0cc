import { equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { Outbox, silentLogger } from 'sendoff'
import { outboxAdmin } from 'sendoff/admin'
import { postgresStore } from 'sendoff/postgres'
import { temporaryFolder } from '../../../test/services/machine/temporary-folder.ts'
import { debianPostgresServer } from '../../../test/services/servers/postgres/postgres.ts'
import { serveDashboard } from '../src/index.ts'

describe('a dashboard on PostgreSQL', () => {
  it('outlives a crash of its database: it says so, and goes on when the database is back', async (test) => {
    const folder = temporaryFolder('dashboard')
    const server = await debianPostgresServer(folder.path)
    const pool = new pg.Pool({ connectionString: server.url })
    test.after(async () => {
      await pool.end()
      await server.stop('immediate')
      folder.remove()
    })
    const writer = await Outbox.writerOnly({
      store: postgresStore({ client: pool }),
      logger: silentLogger,
    }).start()
    await writer.transaction(() => writer.write('OrderPlaced', { total: 1 }))
    await writer.close()
    const admin = outboxAdmin({ store: postgresStore({ client: pool }) })
    const served = await serveDashboard({ admins: { orders: admin }, refreshMs: 20 })
    test.after(() => served.close())

    const signal = AbortSignal.timeout(60_000)
    const response = await fetch(`${served.url}api/outboxes/orders/stream`, { signal })
    const reader = response.body!.getReader()
    const untilMessage = async (kind: string): Promise<string> => {
      for (;;) {
        const { value, done } = await reader.read()
        ok(!done, 'the stream ended')
        const text = new TextDecoder().decode(value)
        if (text.includes(`event: ${kind}`)) return text
      }
    }
    const status = async (): Promise<number> =>
      (await fetch(`${served.url}api/outboxes/orders/events`)).status

    await untilMessage('state')
    await server.stop('immediate')
    match(await untilMessage('trouble'), /OUTBOX_STORE_FAILED/)
    equal(await status(), 503)
    await server.start()
    match(await untilMessage('state'), /"PENDING":\{"count":1/)
    equal(await status(), 200)

    // Once more, while requests are under way.
    const asked = Array.from({ length: 50 }, status)
    await server.restart('immediate')
    for (const answer of await Promise.all(asked)) ok(answer === 200 || answer === 503, String(answer))
    await untilMessage('state')
    equal(await status(), 200)
    await reader.cancel()
  })
})
