import { ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { messagesTable } from './hand-written-table/old-relay.ts'

const root = join(import.meta.dirname, '../..')
const shown = {
  'pg-boss': 'move-jobs.ts',
  'graphile-worker': 'move-jobs.ts',
  bullmq: 'move-jobs.ts',
  'hand-written-table': 'move-messages.ts',
}

describe('the pages about moving in', () => {
  for (const [name, file] of Object.entries(shown)) {
    it(`show the code that is tested: ${name}`, () => {
      const code = readFileSync(join(import.meta.dirname, name, file), 'utf8')
      ok(pageOf(name).includes(`\`\`\`ts\n${code}\`\`\`\n`), `Copy ${name}/${file} to the page.`)
    })
  }

  it('show the table that is tested', () => {
    const columns = (text: string) => text.replace(/\s+/g, ' ').trim()
    ok(columns(pageOf('hand-written-table')).includes(columns(messagesTable)))
  })
})

function pageOf(name: string): string {
  return readFileSync(join(root, `docs/moving-in/${name}.md`), 'utf8')
}
