import { equal, match } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

describe('the example about mail', () => {
  it('sends the mail of the order that was kept, once, and shows what arrived', async (test) => {
    const folder = await mkdtemp(join(tmpdir(), 'sendoff-mail-test-'))
    test.after(() => rm(folder, { recursive: true, force: true }))
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(import.meta.dirname, 'mail.ts'),
      folder,
    ])
    equal(
      stdout,
      [
        'o-1002 was rolled back: That is too much tea.',
        'put off=1 received=1 subject=Your order o-1001',
        '',
      ].join('\n'),
    )
    const page = await readFile(join(folder, 'received-mail.html'), 'utf8')
    match(page, /The Tea Shop/)
    match(page, /Genmaicha &lt;organic&gt;/)
    match(page, /&lt;\w{26}@tea\.example&gt;/)
  })
})
