import { deepEqual, match } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { postgresDatabase } from '../../packages/sendoff/test/transactions/postgres-database.ts'

describe('the example of moving in', () => {
  it('sends every message once, and ends without the old table', { timeout: 60_000 }, async (test) => {
    const database = await postgresDatabase()
    test.after(() => database.drop())
    await checkMove(database.url)
    deepEqual(await database.query("select to_regclass('messages') as messages"), [{ messages: null }])
    const events = await database.query(
      'select count(*)::int as events from outbox_event where status = 1 having count(*) > 20',
    )
    deepEqual(events.length, 1, 'it has moved no message')
  })

  const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
  it('starts a server of its own', { skip: !isFull && 'it is in npm run test:full' }, () => checkMove())
})

async function checkMove(url?: string): Promise<void> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'moving-in.ts')],
    {
      env: { ...process.env, DATABASE_URL: url },
    },
  )
  match(stdout, /^300 messages wait.*\n1\. .*\n2\. .*\n3\. .*\n(4\. .*\n)+5\. .*\n/)
  match(stdout, /\nThe relays sent [1-9]\d* messages, and the outbox [1-9]\d* events\.\nlost=0 twice=0\n$/)
}
