import { equal } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

describe('the example of order per key', () => {
  it(
    'keeps the order of every key on three workers, one of which is killed',
    { timeout: 60_000 },
    async () => {
      const script = join(import.meta.dirname, 'order-per-key.ts')
      const { stdout } = await promisify(execFile)(process.execPath, [script])
      equal(stdout, 'worker-1 was killed when events waited\nevents=240 workers=3 out of order=0\n')
    },
  )
})
