import { equal } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

describe('the example about an inbox', () => {
  it('issues one invoice for each order, although messages come again', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'inbox.ts')])
    equal(stdout, 'orders=20 delivered=31 duplicates=11 invoices=20 issued=20\n')
  })
})
