import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { OutboxStore, RowId } from '../../src/store/index.ts'
import type { StoreCheck } from '../../src/testing/store-check.ts'
import { storeChecks } from '../../src/testing/store-checks/index.ts'

type CheckedStore<Tx> = OutboxStore<Tx> & { schemaSql(): string }

export interface CheckedDatabase<Tx> {
  /** A store on a table of this name, as another process would have it too. */
  readonly openStore: (table: string) => CheckedStore<Tx>
  readonly run: (sql: string) => Promise<unknown>
  /** The subjects to check, which names of checks begin with. Default: all. */
  readonly subjects?: readonly string[] | undefined
}

// They spend most of the time waiting for leases to run out: a server's clock cannot be set.
const concurrency = 6

/** Runs the store contract on a database server, each check on a table that no other check uses meanwhile. */
export function runServerStoreChecks<Tx>(
  name: string,
  { openStore, run, subjects }: CheckedDatabase<Tx>,
): void {
  const freeTables = Array.from({ length: concurrency }, (_, index) => `check_${index}`)

  describe(name, { concurrency }, () => {
    const isWanted = ({ name }: StoreCheck) => subjects?.includes(name.split(':', 1)[0]!) ?? true
    for (const check of storeChecks.filter(isWanted)) {
      it(check.name, async () => {
        const table = freeTables.pop()!
        const opened: CheckedStore<Tx>[] = []
        const open = async () => {
          const store = openStore(table)
          opened.push(store)
          await store.migrate()
          return store
        }
        try {
          const store = await open()
          // Much faster than to make all tables anew.
          const schema = store.schemaSql()
          for (const each of tablesOf(schema)) await run(`delete from ${each}`)
          for (const each of rowsOf(schema)) await run(each)
          const spoil = async ({ eventId }: RowId) => {
            await run(
              `update ${tablesOf(schema)[0]!} set ${spoiledColumns(schema)} where event_id = '${eventId}'`,
            )
          }
          await check.run({ store, wait: (ms) => delay(ms), another: open, spoil })
        } finally {
          await Promise.all(opened.map((store) => store.close()))
          freeTables.push(table)
        }
      })
    }
  })
}

function tablesOf(schema: string): readonly string[] {
  const tables = schema.matchAll(/^create table (?:if not exists )?(\S+) \(/gm)
  return Array.from(tables, ([, table]) => table!).filter((table) => !/_meta["`]$/.test(table))
}

function spoiledColumns(schema: string): string {
  return schema.includes('timestamptz') ? "payload = null, occurred_at = 'infinity'" : 'payload = null'
}

// What the other tables are born with.
function rowsOf(schema: string): readonly string[] {
  return Array.from(schema.matchAll(/^insert into (?!\S+_meta["`])[^;]+;/gm), ([insert]) => insert)
}
