import { existsSync } from 'node:fs'
import type sqlite from 'node:sqlite'
import { OutboxError } from 'sendoff/store'
import { type SqliteHandle, sqliteStore } from 'sendoff/sqlite'
import { given } from '../given.ts'
import { requirePackage } from './load-package.ts'
import { type ClientOptions, type StoreClient } from './store-client.ts'

/** Opens a store on an SQLite file, by `node:sqlite`, or by better-sqlite3 where Node has none. */
export function sqliteClient(file: string, { table, create }: ClientOptions): StoreClient {
  return {
    storeOf: () => sqliteStore({ open: () => openFile(file), ...given({ table }) }),
    async connect() {
      if (!create && !existsSync(file)) {
        throw new OutboxError(
          'OUTBOX_STORE_FAILED',
          `There is no file ${file}. Check the path; "sendoff migrate" creates a new one.`,
        )
      }
    },
    async close() {},
  }
}

function openFile(file: string): SqliteHandle {
  const { name, module } = requirePackage('SQLite', ['node:sqlite', 'better-sqlite3'])
  if (name === 'node:sqlite') return new (module as typeof sqlite).DatabaseSync(file)
  return new (module as new (file: string) => SqliteHandle)(file)
}
