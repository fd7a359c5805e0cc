import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { type SqliteHandle, sqliteStore } from 'sendoff/sqlite'
import { orderIdOf } from '../../bench-event.ts'
import type { BenchDatabase, Conditions, OpenDatabase } from '../../store-bench.ts'
import { type Count, countingHandle } from './counting-handle.ts'

export const drivers = ['node', 'better'] as const

export const insertOrderSql = 'insert into orders (id, customer, total) values (?, ?, ?)'

export interface SqliteDatabase extends BenchDatabase<SqliteHandle> {
  /** A handle for code written by hand, with the same settings as the store's own. Whoever asks for it closes it. */
  openHandle(): SqliteHandle
}

/** Makes a database file with the outbox's tables, and one for orders. */
export const openSqlite = (async (name, conditions, { countStatements = false } = {}) => {
  const file = join(conditions.folder, `${name}.db`)
  const count: Count = { statements: 0 }
  const open = () => openFile(file, conditions)
  const database: SqliteDatabase = {
    openStore: () =>
      sqliteStore({
        open: () => (countStatements ? countingHandle(open(), count) : open()),
        synchronous: conditions.synchronous,
      }),

    openHandle() {
      const handle = open()
      handle.exec(`pragma journal_mode = wal; pragma synchronous = ${conditions.synchronous}`)
      return handle
    },

    // As in every transaction of a user: statements end with it.
    insertOrder(tx, number) {
      tx.prepare(insertOrderSql).run(orderIdOf(number), 'cus_8f2b1c9e7d', 129.95)
    },

    statementCount: () => count.statements,
  }

  const store = database.openStore()
  await store.migrate()
  await store.close()
  const handle = database.openHandle()
  handle.exec('create table orders (id text primary key, customer text not null, total real not null) strict')
  handle.close()
  return database
}) satisfies OpenDatabase<SqliteHandle>

function openFile(file: string, { driver }: Conditions): SqliteHandle {
  return driver === 'better' ? new Database(file) : new DatabaseSync(file)
}
