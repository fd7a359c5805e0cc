import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'sendoff/sqlite'
import { testOperatorJourney } from './operator-journey.ts'

testOperatorJourney('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sendoff-dashboard-'))
  const file = join(folder, 'shop.db')
  const open = (table: string) => sqliteStore({ open: () => new DatabaseSync(file), table }) as never
  return {
    open,
    async query(sql) {
      const database = new DatabaseSync(file, { readOnly: true })
      try {
        return database.prepare(sql).all()
      } finally {
        database.close()
      }
    },
    async close() {
      rmSync(folder, { recursive: true })
    },
  }
})
