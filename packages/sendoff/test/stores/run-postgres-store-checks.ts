import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { PostgresStore } from '../../src/stores/postgres/index.ts'
import { storeChecks } from '../../src/testing/store-checks/index.ts'

export interface CheckedDatabase<Tx> {
  /** A store on a table of this name, as another process would have it too. */
  readonly openStore: (table: string) => PostgresStore<Tx>
  readonly run: (sql: string) => Promise<unknown>
}

// They spend most of the time waiting for leases to run out: PostgreSQL's clock cannot be set.
const concurrency = 6

/** Runs the store contract on PostgreSQL, each check on a table that nobody else uses meanwhile. */
export function runPostgresStoreChecks<Tx>(name: string, { openStore, run }: CheckedDatabase<Tx>): void {
  const freeTables = Array.from({ length: concurrency }, (_, index) => `check_${index}`)

  describe(`postgres store on ${name}`, { concurrency }, () => {
    for (const check of storeChecks) {
      it(check.name, async () => {
        const table = freeTables.pop()!
        const opened: PostgresStore<Tx>[] = []
        const open = async () => {
          const store = openStore(table)
          opened.push(store)
          await store.migrate()
          return store
        }
        try {
          const store = await open()
          // Much faster than to make all tables anew.
          await run(emptying(store.schemaSql()))
          await check.run({ store, wait: (ms) => delay(ms), another: open })
        } finally {
          await Promise.all(opened.map((store) => store.close()))
          freeTables.push(table)
        }
      })
    }
  })
}

function emptying(schema: string): string {
  const tables = Array.from(schema.matchAll(/^create table (\S+) \(/gm), ([, table]) => table!)
  return tables
    .filter((table) => !table.endsWith('_meta"'))
    .map((table) => `delete from ${table};`)
    .join('\n')
}
