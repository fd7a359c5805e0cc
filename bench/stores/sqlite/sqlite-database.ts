import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { type SqliteHandle, sqliteStore } from 'sendoff/sqlite'
import { orderIdOf } from '../../bench-event.ts'
import type { BenchDatabase, BenchDatabases, Conditions } from '../../store-bench.ts'
import { type Count, countingHandle } from './counting-handle.ts'

export const drivers = ['node', 'better'] as const

export const insertOrderSql = 'insert into orders (id, customer, total) values (?, ?, ?)'

/** Files in the folder of the measurement. Counting costs time, so it is off unless counts are needed. */
export function sqliteDatabases({ countStatements = false } = {}): BenchDatabases<SqliteHandle> {
  const open = (name: string, conditions: Conditions) => sqliteDatabase(name, conditions, countStatements)
  return {
    async create(name, conditions) {
      const database = open(name, conditions)
      const store = database.openStore()
      await store.migrate()
      await store.close()

      const handle = openHandle(name, conditions)
      handle.exec(
        'create table orders (id text primary key, customer text not null, total real not null) strict',
      )
      handle.close()
      return database
    },

    open: async (name, conditions) => open(name, conditions),
  }
}

/**
 * Opens a handle for code written by hand, with the same settings as the store's own. The caller closes it.
 */
export function openHandle(name: string, conditions: Conditions): SqliteHandle {
  const handle = openFile(name, conditions)
  handle.exec(`pragma journal_mode = wal; pragma synchronous = ${conditions.synchronous}`)
  return handle
}

// One for this process, because a measurement has one outbox.
const count: Count = { statements: 0 }

function sqliteDatabase(
  name: string,
  conditions: Conditions,
  countStatements: boolean,
): BenchDatabase<SqliteHandle> {
  const openForStore = () => {
    const handle = openFile(name, conditions)
    return countStatements ? countingHandle(handle, count) : handle
  }
  return {
    openStore: (table) =>
      sqliteStore({
        open: openForStore,
        synchronous: conditions.synchronous,
        ...(table !== undefined && { table }),
      }),

    // As in every transaction of a user: statements end with it.
    insertOrder(tx, number) {
      tx.prepare(insertOrderSql).run(orderIdOf(number), 'cus_8f2b1c9e7d', 129.95)
    },

    counts: async () => ({ statementsPerSecond: count.statements }),

    async close() {},
  }
}

/** Returns the file of a database. */
export function fileOf(name: string, { folder }: Conditions): string {
  return join(folder, `${name}.db`)
}

function openFile(name: string, conditions: Conditions): SqliteHandle {
  const file = fileOf(name, conditions)
  return conditions.driver === 'better' ? new Database(file) : new DatabaseSync(file)
}
