import { deepEqual, equal, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { EventStatus } from 'sendoff'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { RunningProgram } from './running-program.ts'

const orderCount = 40

/**
 * Runs a server of `examples/recipes/web` as its user does. The server has to undo a refused order with its event, ship
 * the others, and end by SIGTERM with all that it has confirmed.
 */
export async function judgeWebRecipe(
  test: TestContext,
  command: readonly string[],
  cwd: string,
): Promise<void> {
  const folder = temporaryFolder('recipe')
  test.after(() => folder.remove())
  const server = await RunningProgram.start(command, /open at/, {
    cwd,
    env: shopEnvironment(folder.path),
  })
  test.after(() => server.kill())
  const url = await server.said(/open at (\S+)\n/)

  const place = async (order: object): Promise<number> => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${url}/orders`, { method: 'POST', body: JSON.stringify(order), headers })).status
  }
  deepEqual(
    [
      await place({ id: 'o-1', total: 42 }),
      await place({ id: 'o-1', total: 42 }),
      await place({ id: 'o-2', total: 5_000 }),
    ],
    [201, 409, 409],
  )
  equal((await fetch(`${url}/livez`)).status, 200)
  equal((await fetch(`${url}/readyz`)).status, 200)
  await server.said(/Order (o-1) is shipped/)

  // The signal comes while orders are on their way. The server may refuse some, but keeps what it confirms.
  const ids = Array.from({ length: orderCount }, (_, index) => `late-${index}`)
  const answers = ids.map((id) => place({ id, total: 1 }).catch(() => undefined))
  await Promise.any(answers)
  await server.end()

  const statuses = await Promise.all(answers)
  const confirmed = ids.filter((_, index) => statuses[index] === 201)
  ok(confirmed.length > 0)
  const { orders, events, shipments } = readShop(folder.path)
  deepEqual(
    ['o-1', ...confirmed].filter((id) => !orders.includes(id)),
    [],
  )
  deepEqual(
    events,
    orders.map((id) => `${id} ${EventStatus.DONE}`),
  )
  deepEqual(shipments, orders)
  ok(!orders.includes('o-2'))
}

/** Returns the variables that put the databases of the shop into a folder, and its server on a free port. */
export function shopEnvironment(folder: string): NodeJS.ProcessEnv {
  return { SHOP_DATABASE: join(folder, 'shop.db'), CARRIER_DATABASE: join(folder, 'carrier.db'), PORT: '0' }
}

/** Reads the databases of a shop: ids of orders, of events with their states, and of shipped orders. */
export function readShop(folder: string) {
  const column = (file: string, sql: string) => {
    const database = new DatabaseSync(join(folder, file), { readOnly: true })
    const rows = database.prepare(sql).all()
    database.close()
    return rows.map(({ value }) => String(value))
  }
  return {
    orders: column('shop.db', 'select id as value from orders order by 1'),
    events: column('shop.db', "select aggregate_id || ' ' || status as value from outbox_event order by 1"),
    shipments: column('carrier.db', 'select order_id as value from shipments order by 1'),
  }
}
