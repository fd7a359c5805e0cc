import { equal } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

describe('the example of a saga', () => {
  it(
    'takes each payment once, and takes back each order once that is not paid',
    { timeout: 60_000 },
    async () => {
      const script = join(import.meta.dirname, 'saga.ts')
      const { stdout } = await promisify(execFile)(process.execPath, [script])
      equal(
        stdout,
        [
          'messages=40 came again=true',
          'paid=14 cancelled=6 stock=86',
          'payments=14 taken=140 balances=405',
          '',
        ].join('\n'),
      )
    },
  )
})
