import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RecipeDatabase } from '../../../test/recipes/recipe-database.ts'
import { RunningProgram } from '../../../test/recipes/running-program.ts'

describe('the recipe for an HTTP API with an ORM', () => {
  it('undoes a refused order with its event, ships the others, and ends by SIGTERM', async (test) => {
    const database = await RecipeDatabase.create(test)
    const server = await RunningProgram.start([process.execPath, 'server.ts'], /open at/, {
      cwd: import.meta.dirname,
      env: { ...process.env, DATABASE_URL: database.url, PORT: '0' },
    })
    test.after(() => server.kill())
    const url = await server.said(/open at (\S+)\n/)
    const place = async (order: object): Promise<number> => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch(`${url}/orders`, { method: 'POST', body: JSON.stringify(order), headers })).status
    }
    const statuses = [
      await place({ id: 'o-1', total: 42 }),
      await place({ id: 'o-1', total: 42 }),
      await place({ id: 'o-2', total: 5_000 }),
      await place({ id: 'o-3', total: 7 }),
    ]
    deepEqual(statuses, [201, 409, 409, 201])
    equal((await fetch(`${url}/readyz`)).status, 200)
    await server.end()
    const shipped = ['o-1', 'o-3']
    deepEqual(await database.readShop(), { orders: shipped, done: shipped, pending: [], shipments: shipped })
  })
})
