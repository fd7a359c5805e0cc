import { deepEqual } from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { RecipeDatabase } from '../../../test/recipes/recipe-database.ts'
import { RunningProgram } from '../../../test/recipes/running-program.ts'
import { runCommand } from '../../../test/services/processes/run-command.ts'

const host = join(import.meta.dirname, '../../../test/recipes/function-host.ts')

describe('the recipe for serverless functions', () => {
  it('has events delivered by a worker while the function is frozen, or by a function on a timer', async (test) => {
    const database = await RecipeDatabase.create(test)
    const options = { cwd: import.meta.dirname, env: { ...process.env, DATABASE_URL: database.url } }
    await runCommand(process.execPath, ['migrate.ts'], options)

    const instance = await RunningProgram.start(
      [process.execPath, host, join(import.meta.dirname, 'function.ts')],
      /function is at/,
      options,
    )
    test.after(() => instance.kill())
    const url = await instance.said(/function is at (\S+)\n/)
    const worker = await RunningProgram.start([process.execPath, 'worker.ts'], /worker is ready/, options)
    test.after(() => worker.kill())

    /** Wakes the function for one request, and freezes it right after its response. */
    const call = async (order: object): Promise<number> => {
      instance.signal('SIGCONT')
      const { status } = await fetch(url, { method: 'POST', body: JSON.stringify(order) })
      instance.signal('SIGSTOP')
      return status
    }

    deepEqual(await call({ id: 'o-1', total: 42 }), 201)
    await worker.said(/Order o-1 is shipped/)
    deepEqual(
      [
        await call({ id: 'o-1', total: 42 }),
        await call({ id: 'o-2', total: 5_000 }),
        await call({ id: 'o-3', total: 7 }),
      ],
      [409, 409, 201],
    )
    await worker.said(/Order o-3 is shipped/)
    await worker.end()

    // Without a worker, an event waits.
    deepEqual(await call({ id: 'o-4', total: 1 }), 201)
    deepEqual((await database.readShop()).pending, ['o-4'])
    const tick = `const { handler } = await import('./scheduled.ts'); await handler(); process.exit()`
    await runCommand(process.execPath, ['--input-type=module', '-e', tick], options)

    instance.signal('SIGCONT')
    await instance.end()
    const placed = ['o-1', 'o-3', 'o-4']
    deepEqual(await database.readShop(), { orders: placed, done: placed, pending: [], shipments: placed })
  })
})
