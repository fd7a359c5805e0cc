import { equal, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import {
  debianPostgresServer,
  debianPostgresStandby,
} from '../../../../../test/services/servers/postgres/postgres.ts'
import type { PostgresServer } from '../../../../../test/services/servers/postgres/postgres-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { outboxAdmin } from '../../../src/admin/index.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { postgresStore, type PostgresStoreOptions } from '../../../src/stores/postgres/index.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'
import { newSchema, newStore } from './test-store.ts'

const readOnly = { options: '-c default_transaction_read_only=on' }

describe('postgres store: a server that may only be read', () => {
  let primary: PostgresServer
  let standby: PostgresServer
  const folders = [temporaryFolder('primary'), temporaryFolder('standby')] as const
  before(async () => {
    primary = await debianPostgresServer(folders[0].path)
    const pool = new pg.Pool({ connectionString: primary.url })
    await postgresStore({ client: pool }).migrate()
    await pool.end()
    standby = await debianPostgresStandby(folders[1].path, primary.url)
  })
  after(async () => {
    await standby?.stop('immediate')
    await primary?.stop('immediate')
    folders.forEach((folder) => folder.remove())
  })

  const expected = { code: 'OUTBOX_READ_ONLY', message: /is a standby.*Connect the store to the primary/ }

  it('a standby named by mistake is refused at the start, and the message says what to do', async (t) => {
    const { newPool } = await newSchema(t)
    const client = newPool({ connectionString: standby.url })
    await rejects(started(client), expected)
    await rejects(started(client, { schema: 'not_there_yet' }), expected)
    await rejects(
      Outbox.writerOnly({ store: postgresStore({ client }), migrate: false, logger: false }).start(),
      expected,
    )
  })

  it('an admin looks at a standby, and cannot act', async (t) => {
    const { newPool } = await newSchema(t)
    const store = postgresStore({ client: newPool({ connectionString: standby.url }) })
    const admin = outboxAdmin({ store }).as('ann')
    equal((await admin.browse()).events.length, 0)
    await rejects(admin.pause({ eventType: 'E' }), { code: 'OUTBOX_READ_ONLY' })
  })

  it('read-only transactions by default are refused at the start, and the message says what to do', async (t) => {
    const { schema, newPool } = await newStore(t)
    const client = newPool(readOnly)
    const message = /Set default_transaction_read_only to off/
    await rejects(started(client, { schema }), { code: 'OUTBOX_READ_ONLY', message })
    await rejects(started(client, { schema: `${schema}_other` }), { code: 'OUTBOX_READ_ONLY', message })
  })
})

describe('postgres store: another schema', () => {
  it('is found whatever the search path is', async (t) => {
    const { schema, newPool } = await newSchema(t)
    const metrics = new SignalMetrics()
    const outbox = await started(newPool({ options: '-c search_path=' }), { schema }, metrics)
    await outbox.transaction(() => outbox.write('E', 1, { idempotencyKey: 'k' }))
    await metrics.until(({ dispatchSuccess }) => dispatchSuccess === 1)
    await outbox.close()
  })

  it('that does not have the tables is refused without migrations', async (t) => {
    const { pool } = await newSchema(t)
    const store = postgresStore({ client: pool, schema: 'nowhere' })
    const outbox = Outbox.multiNode({ store, migrate: false, logger: false })
    await rejects(outbox.start(), { code: 'OUTBOX_SCHEMA_NOT_READY' })
  })
})

function started(
  client: pg.Pool,
  options: Partial<PostgresStoreOptions<pg.Pool>> = {},
  metrics = new SignalMetrics(),
) {
  const listeners = new ListenerRegistry().registerDefault(() => {})
  const store = postgresStore({ client, ...options })
  return Outbox.multiNode({ store, listeners, logger: false, metrics }).start()
}
