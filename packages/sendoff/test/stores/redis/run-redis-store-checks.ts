import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { RowId } from '../../../src/store/index.ts'
import type { RedisStore } from '../../../src/stores/redis/index.ts'
import { memberOf } from '../../../src/stores/redis/redis-keyspace.ts'
import { skipReason } from '../../../src/testing/store-check.ts'
import { storeChecks } from '../../../src/testing/store-checks/index.ts'

/** Runs the store contract on Redis, each check under a prefix of its own. `setField` sets a field of a hash. */
export function runRedisStoreChecks<Tx>(
  name: string,
  openStore: (prefix: string) => RedisStore<Tx>,
  setField: (key: string, field: string, value: string) => Promise<unknown>,
): void {
  // They spend most of the time waiting for leases to run out: a server's clock cannot be set.
  describe(name, { concurrency: 6 }, () => {
    for (const [index, check] of storeChecks.entries()) {
      it(check.name, async (t) => {
        const prefix = `check-${process.pid}-${index}`
        const open = async () => {
          const store = openStore(prefix)
          await store.migrate()
          return store
        }
        const store = await open()
        const spoil = async ({ eventId }: RowId) => {
          const [row] = await store.people.query({ eventId, limit: 1 })
          await setField(`{${prefix}}:rows`, memberOf(row!.seq), 'no JSON')
        }
        const context = { store, wait: (ms: number) => delay(ms), another: open, spoil }
        const reason = skipReason(check, context)
        if (reason === undefined) await check.run(context)
        else t.skip(reason)
      })
    }
  })
}
