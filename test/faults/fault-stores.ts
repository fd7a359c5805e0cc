import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import type { OutboxStore } from '../../packages/sendoff/src/store.ts'
import { sqliteStore } from '../../packages/sendoff/src/stores/sqlite/index.ts'

/** A store as the fault tests need it: by its name and by a text that says where its data is. */
export interface FaultStore {
  /** Where a run keeps its data, given a folder of its own. */
  location(folder: string): string
  open(location: string): OutboxStore<any>
  /** Makes the table of the business data that events are written with. */
  prepare(location: string): Promise<void>
  addBusinessRow(tx: any, id: string): Promise<void>
  businessRows(location: string): Promise<readonly string[]>
}

export const faultStores: Readonly<Record<string, FaultStore>> = {
  sqlite: {
    location: (folder) => join(folder, 'app.db'),
    open: (file) => sqliteStore({ open: () => new DatabaseSync(file), synchronous: 'NORMAL' }),

    async prepare(file) {
      await withDatabase(file, (database) =>
        database.exec('pragma journal_mode = wal; create table business (id text primary key)'),
      )
    },
    async addBusinessRow(tx: DatabaseSync, id) {
      tx.prepare('insert into business (id) values (?)').run(id)
    },
    businessRows: (file) =>
      withDatabase(file, (database) =>
        database
          .prepare('select id from business')
          .all()
          .map((row) => row['id'] as string),
      ),
  },
}

export function faultStore(name: string): FaultStore {
  const store = faultStores[name]
  if (store === undefined) {
    throw new RangeError(`There is no store "${name}" here, only ${Object.keys(faultStores).join(', ')}.`)
  }
  return store
}

async function withDatabase<Result>(file: string, work: (database: DatabaseSync) => Result): Promise<Result> {
  const database = new DatabaseSync(file)
  try {
    return work(database)
  } finally {
    database.close()
  }
}
