import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../../../packages/sendoff/src/stores/sqlite/index.ts'
import type { FaultStore } from './fault-store.ts'
import { lockName, thief } from './lock-harms.ts'

const busyTimeoutMs = 5_000

/** A store in a file that processes share. All harm is done to the processes themselves. */
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

  lock: {
    token: async (file) =>
      withDatabase(file, (database) => {
        const row = database.prepare('select token from outbox_event_lock where name = ?').get(lockName)
        return row?.['token'] as string | undefined
      }),

    delete: async (file) =>
      withDatabase(
        file,
        (database) => void database.prepare('delete from outbox_event_lock where name = ?').run(lockName),
      ),

    steal: async (file, forMs) =>
      withDatabase(file, (database) => {
        database
          .prepare('insert or replace into outbox_event_lock (name, token, until) values (?, ?, ?)')
          .run(lockName, thief, Date.now() + Math.ceil(forMs))
      }),
  },
}

function withDatabase<Result>(file: string, work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs })
  try {
    return work(database)
  } finally {
    database.close()
  }
}
