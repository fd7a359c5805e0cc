import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../../packages/sendoff/src/stores/sqlite/index.ts'
import type { FaultStore } from './fault-store.ts'

/** A file that processes share: all harm there is comes to the processes themselves. */
export const sqliteFaultStore: FaultStore = {
  async site(folder) {
    const location = join(folder, 'app.db')
    return { location, accessOf: () => ({ location }), harms: {}, async close() {} }
  },

  open: (file) => ({
    store: sqliteStore({ open: () => new DatabaseSync(file), synchronous: 'NORMAL' }),
    async end() {},
  }),

  async prepare(file) {
    withDatabase(file, (database) =>
      database.exec('pragma journal_mode = wal; create table business (id text primary key)'),
    )
  },

  async addBusinessRow(tx: DatabaseSync, id) {
    tx.prepare('insert into business (id) values (?)').run(id)
  },

  async businessRows(file) {
    return withDatabase(file, (database) =>
      database
        .prepare('select id from business')
        .all()
        .map((row) => row['id'] as string),
    )
  },
}

function withDatabase<Result>(file: string, work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(file)
  try {
    return work(database)
  } finally {
    database.close()
  }
}
