import { deepEqual } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { RecipeDatabase } from '../../../test/recipes/recipe-database.ts'
import { RunningProgram } from '../../../test/recipes/running-program.ts'
import { temporaryFolder } from '../../../test/services/machine/temporary-folder.ts'

describe('the recipe for a relay to Kafka with an inbox', () => {
  it('invoices every order once, in order, and also when all messages come again', async (test) => {
    const database = await RecipeDatabase.create(test)
    const folder = temporaryFolder('recipe-kafka')
    test.after(() => folder.remove())
    const billingFile = join(folder.path, 'billing.db')
    const env = {
      ...process.env,
      DATABASE_URL: database.url,
      KAFKA: process.env['KAFKA_URL']!.replace('kafka://', ''),
      TOPIC: `orders-${process.pid}`,
      BILLING_DATABASE: billingFile,
    }
    const cwd = import.meta.dirname
    const place = (...ids: readonly string[]) =>
      execFileSync(process.execPath, ['place-orders.ts', ...ids], { cwd, env })
    const start = async (file: string, ready: RegExp, more: object = {}) => {
      const program = await RunningProgram.start([process.execPath, file], ready, {
        cwd,
        env: { ...env, ...more },
      })
      test.after(() => program.kill())
      return program
    }

    place('o-1', 'o-2')
    const relay = await start('relay.ts', /The relay runs/)
    const billing = await start('billing.ts', /Billing runs/)
    place('o-3')
    await billing.said(/Order o-3 is invoiced/)
    await billing.end()

    const again = await start('billing.ts', /Billing runs/, { GROUP: `again-${process.pid}` })
    place('o-4')
    await again.said(/Order o-4 is invoiced/) // it comes last, behind those that come again
    await again.end()
    await relay.end()

    const invoices = new DatabaseSync(billingFile).prepare('select order_id from invoices').all()
    deepEqual(
      invoices.map((row) => row['order_id']),
      ['o-1', 'o-2', 'o-3', 'o-4'],
    )
  })
})
