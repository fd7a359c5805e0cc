import { deepEqual } from 'node:assert/strict'
import { it } from 'node:test'
import postgres from 'postgres'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { codesOf } from '../../fixtures/doctor-codes.ts'
import { newSchema } from './test-store.ts'

it('the doctor finds a pooler beside LISTEN and prepared statements', async (test) => {
  const { schema, pool } = await newSchema(test, process.env['PGBOUNCER_URL'])
  const store = (options: object) => postgresStore({ client: pool, schema, ...options })
  await store({ prepare: false, notify: false }).migrate()

  deepEqual(await codesOf(store({ prepare: false, notify: true })), ['POOLER_WITH_LISTEN'])
  deepEqual(await codesOf(store({ prepare: false, notify: false })), [])
  const sql = postgres(process.env['PGBOUNCER_URL']!, { prepare: false, onnotice() {} })
  test.after(() => sql.end())
  for (const client of [pool, sql]) {
    const findings = await postgresStore({ client, schema, notify: false }).doctor!({
      longTransactionMs: 300_000,
      bloatBytes: 1e9,
    })
    const codes = findings.map(({ code }) => code).filter((code) => code !== 'CONNECTIONS_UNENDING')
    deepEqual(codes, ['POOLER_WITH_PREPARED'])
  }
})
