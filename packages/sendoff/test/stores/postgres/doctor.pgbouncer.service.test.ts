import { deepEqual } from 'node:assert/strict'
import { it } from 'node:test'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { codesOf } from '../../fixtures/doctor-codes.ts'
import { newSchema } from './test-store.ts'

it('the doctor finds a pooler beside LISTEN and prepared statements', async (test) => {
  const { schema, pool } = await newSchema(test, process.env['PGBOUNCER_URL'])
  const store = (options: object) => postgresStore({ client: pool, schema, ...options })
  await store({ prepare: false, notify: false }).migrate()

  deepEqual(await codesOf(store({ prepare: false, notify: true })), ['POOLER_WITH_LISTEN'])
  deepEqual(await codesOf(store({ prepare: false, notify: false })), [])
  const findings = await postgresStore({ client: pool, schema, notify: false }).doctor!({
    longTransactionMs: 300_000,
    bloatBytes: 1e9,
  })
  deepEqual(
    findings.map(({ code }) => code),
    ['POOLER_WITH_PREPARED'],
  )
})
