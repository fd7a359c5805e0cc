import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { temporaryFolder } from '../fixtures/stores.ts'
import { describeMailOutbox } from './mail-contract.ts'

const inMemory = new Map<string, StoreWith<any, 'people'>>()

describeMailOutbox('memory', {
  open(_test, table) {
    const store = inMemory.get(table) ?? memoryStore()
    inMemory.set(table, store)
    return store
  },
})

const files = new Map<string, string>()

describeMailOutbox('SQLite', {
  async open(test, table) {
    const file = files.get(table) ?? path.join(await temporaryFolder(test), 'app.db')
    files.set(table, file)
    return sqliteStore({ open: () => new DatabaseSync(file), table })
  },

  async openBeside(test, tables) {
    const file = path.join(await temporaryFolder(test), 'app.db')
    return tables.map((table) => sqliteStore({ open: () => new DatabaseSync(file), table }))
  },
})
