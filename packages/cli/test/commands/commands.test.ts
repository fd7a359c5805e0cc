import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder, outboxAt } from '../tested-outbox.ts'
import { testCommands } from './command-behaviour.ts'

testCommands({
  name: 'SQLite',
  async newOutbox(test) {
    const file = join(newFolder(test), 'test.db')
    writeFileSync(file, '')
    return outboxAt(`sqlite:${file}`, 'shop_outbox')
  },
  hasKeys: true,
  hasSql: true,
})
