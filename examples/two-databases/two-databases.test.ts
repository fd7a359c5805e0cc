import { equal } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

describe('the example of two databases', () => {
  it('reserves stock once for each order, although some events come again', { timeout: 60_000 }, async () => {
    const script = join(import.meta.dirname, 'two-databases.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [script])
    equal(stdout, 'orders=12 deliveries=16 reservations=12 announced=12 refused=OUTBOX_NO_TRANSACTION\n')
  })
})
