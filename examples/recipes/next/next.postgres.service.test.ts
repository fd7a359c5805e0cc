import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { installRecipe, withoutInstall } from '../../../test/recipes/installed-recipe.ts'
import { RecipeDatabase } from '../../../test/recipes/recipe-database.ts'
import { RunningProgram } from '../../../test/recipes/running-program.ts'
import { runCommand } from '../../../test/services/processes/run-command.ts'

const versions = ['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1', 'typescript@6.0.3', 'pg@8.23.1']
const types = ['@types/node@24.19.2', '@types/react@19.3.0', '@types/pg@8.23.1']
const host = join(import.meta.dirname, '../../../test/recipes/route-host.ts')
const migration = join(import.meta.dirname, '../cloud/migrate.ts')

describe('the recipe for Next.js', () => {
  it('has a route handler that undoes a refused order with its event, and a worker that ships', async (test) => {
    const { database, worker } = await startWorker(test, import.meta.dirname)
    const route = join(import.meta.dirname, 'app/orders/route.ts')
    const server = await RunningProgram.start([process.execPath, host, route], /route is at/, {
      env: { DATABASE_URL: database.url },
    })
    test.after(() => server.kill())
    const url = await server.said(/route is at (\S+)\n/)
    const place = async (order: object) =>
      (await fetch(url, { method: 'POST', body: JSON.stringify(order) })).status

    deepEqual(
      [
        await place({ id: 'o-1', total: 42 }),
        await place({ id: 'o-1', total: 42 }),
        await place({ id: 'o-2', total: 5_000 }),
      ],
      [201, 409, 409],
    )
    await worker.said(/Order o-1 is shipped/)
    await server.end()
    await worker.end()
    deepEqual(await database.readShop(), { orders: ['o-1'], done: ['o-1'], pending: [], shipments: ['o-1'] })
  })

  it('keeps these promises with Next, in server actions as well', { skip: withoutInstall }, async (test) => {
    const folder = await installRecipe(test, 'next', [...versions, ...types])
    if (folder === undefined) return
    const next = join(folder, 'node_modules/next/dist/bin/next')
    const settings = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' } as const
    await runCommand(process.execPath, [next, 'build'], { cwd: folder, env: { ...process.env, ...settings } })

    const { database, worker } = await startWorker(test, folder)
    const server = await RunningProgram.start(
      [process.execPath, next, 'start', '--port', '0', '--hostname', '127.0.0.1'],
      /Ready in/,
      { cwd: folder, env: { ...settings, DATABASE_URL: database.url } },
    )
    test.after(() => server.kill())
    const url = await server.said(/Local: +(\S+)\n/)

    const place = async (order: object) =>
      (await fetch(`${url}/orders`, { method: 'POST', body: JSON.stringify(order) })).status
    deepEqual([await place({ id: 'o-1', total: 42 }), await place({ id: 'o-2', total: 5_000 })], [201, 409])

    // A form without scripts names its action in a hidden field.
    const [, action] = /name="(\$ACTION_ID_\w+)"/.exec(await (await fetch(url)).text()) ?? []
    ok(action !== undefined)
    const order = async (id: string, total: string) => {
      const body = new FormData()
      for (const [name, value] of Object.entries({ [action]: '', id, total })) body.set(name, value)
      return (await fetch(url, { method: 'POST', body, redirect: 'manual' })).headers.get('location')
    }
    match((await order('o-3', '7'))!, /placed=o-3/)
    match((await order('o-4', '5000'))!, /refused=The%20account/)
    await worker.said(/Order o-1 is shipped/)
    await worker.said(/Order o-3 is shipped/)

    const ids = Array.from({ length: 20 }, (_, index) => `late-${index}`)
    const answers = ids.map((id) => place({ id, total: 1 }).catch(() => undefined))
    await Promise.any(answers)
    // Next completes the requests, and then says with its exit code that a signal has ended it.
    equal(await server.endCode(), 143)
    const statuses = await Promise.all(answers)
    const confirmed = ids.filter((_, index) => statuses[index] === 201)
    await worker.said(new RegExp(`Order ${confirmed.at(-1)} is shipped`))
    await worker.end()

    const { orders, done, pending, shipments } = await database.readShop()
    deepEqual(
      ['o-1', 'o-3', ...confirmed].filter((id) => !orders.includes(id)),
      [],
    )
    ok(!orders.includes('o-2') && !orders.includes('o-4'))
    deepEqual({ done, pending, shipments }, { done: orders, pending: [], shipments: orders })
  })
})

async function startWorker(test: TestContext, folder: string) {
  const database = await RecipeDatabase.create(test)
  const env = { ...process.env, DATABASE_URL: database.url }
  await runCommand(process.execPath, [migration], { env })
  const worker = await RunningProgram.start([process.execPath, 'worker.ts'], /worker is ready/, {
    cwd: folder,
    env,
  })
  test.after(() => worker.kill())
  return { database, worker }
}
