import { deepEqual, equal, match } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it, type TestContext } from 'node:test'
import { postgresDatabase } from '../../packages/sendoff/test/transactions/postgres-database.ts'

const token = 'a-secret-of-16-characters'

describe('the example of a REST API with a dashboard', () => {
  it('ships every order once, shows it to the operator alone, and ends by a signal', async (test) => {
    const database = await postgresDatabase()
    test.after(() => database.drop())
    await checkShop(test, database.url)
    const rows = await database.query('select status from outbox_event')
    deepEqual(rows, [{ status: 1 }, { status: 1 }])
  })

  const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
  it('starts a server of its own', { skip: !isFull && 'it is in npm run test:full' }, (test) =>
    checkShop(test),
  )
})

async function checkShop(test: TestContext, url?: string): Promise<void> {
  const shop = spawn(process.execPath, [join(import.meta.dirname, 'orders.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, DATABASE_URL: url, PORT: '0', OPS_TOKEN: token },
  })
  test.after(() => shop.kill('SIGKILL'))
  const lines = createInterface(shop.stdout)[Symbol.asyncIterator]()
  const orders = await said(/^Orders: (.*)$/)
  const dashboard = await said(/^Dashboard: (\S+)/)

  const place = async (body: object) => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(orders, { method: 'POST', body: JSON.stringify(body), headers })).status
  }
  const statuses = [
    await place({ id: 'o-1', total: 42 }),
    await place({ id: 'o-1', total: 42 }),
    await place({ id: 'o-2', total: -1 }),
    await place({ id: 'o-3', total: 9.5 }),
  ]
  deepEqual(statuses, [201, 409, 400, 201])
  const shipped = [await said(/^Order (.*) is shipped/), await said(/^Order (.*) is shipped/)]
  deepEqual(shipped.sort(), ['o-1', 'o-3'])
  deepEqual(await (await fetch(orders)).json(), [
    { id: 'o-1', total: 42, shipped: true },
    { id: 'o-3', total: 9.5, shipped: true },
  ])

  equal((await fetch(dashboard)).status, 401)
  const authorization = `Basic ${Buffer.from(`ann:${token}`).toString('base64')}`
  const page = await fetch(dashboard, { headers: { authorization } })
  match(await page.text(), /<base href="\/outbox\/" \/>/)
  const state = await fetch(`${dashboard}api/outboxes/orders/state`, { headers: { authorization } })
  equal(state.status, 200)

  shop.kill('SIGTERM')
  deepEqual(await once(shop, 'exit'), [0, null])

  /** Waits for a line of the shop, and returns the part that the pattern captures. */
  async function said(pattern: RegExp): Promise<string> {
    for (;;) {
      const { value, done } = (await lines.next()) as IteratorResult<string>
      if (done) throw new Error(`The shop ended before it said ${pattern.source}.`)
      const [, found] = pattern.exec(value) ?? []
      if (found !== undefined) return found
    }
  }
}
