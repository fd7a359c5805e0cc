import { deepEqual, equal, match } from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../test/services/machine/temporary-folder.ts'

const compiler = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')

describe('the example in Nest', () => {
  it('ships every order once, undoes a refused one with its event, and ends by a signal', async (test) => {
    await promisify(execFile)(process.execPath, [compiler, '-p', import.meta.dirname])
    const folder = temporaryFolder('example-nestjs')
    test.after(() => folder.remove())
    const shop = spawn(process.execPath, [join(import.meta.dirname, 'dist/main.js')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        NO_COLOR: '1',
        PORT: '0',
        SHOP_DATABASE: join(folder.path, 'shop.db'),
        OUTBOX_MODE: 'multi-node',
      },
    })
    test.after(() => shop.kill('SIGKILL'))
    const lines = createInterface(shop.stdout)[Symbol.asyncIterator]()
    const url = await said(/open at (\S+)/)
    const place = async (id: string, total: number) => {
      const body = JSON.stringify({ id, total })
      const headers = { 'content-type': 'application/json' }
      return (await fetch(url, { method: 'POST', body, headers })).status
    }
    deepEqual([await place('o-1', 42), await place('o-1', 42), await place('o-2', 0)], [201, 409, 201])
    deepEqual([await said(/Order (.*)\./), await said(/Order (.*)\./)].sort(), [
      'o-1 goes by carrier',
      'o-2 goes by messenger',
    ])
    deepEqual(await (await fetch(url)).json(), [
      { id: 'o-1', total: 42, carrier: 'carrier' },
      { id: 'o-2', total: 0, carrier: 'messenger' },
    ])
    const health = await fetch(url.replace(/orders$/, 'health'))
    equal(health.status, 200)
    match(await health.text(), /"outbox":\{"status":"up"/)
    shop.kill('SIGTERM')
    deepEqual(await once(shop, 'exit'), [null, 'SIGTERM'])

    /** Waits for a line of the shop, and returns the part that the pattern captures. */
    async function said(pattern: RegExp): Promise<string> {
      for (;;) {
        const { value, done } = (await lines.next()) as IteratorResult<string>
        if (done) throw new Error(`The shop ended before it said ${pattern.source}.`)
        const [, found] = pattern.exec(value) ?? []
        if (found !== undefined) return found
      }
    }
  })
})
