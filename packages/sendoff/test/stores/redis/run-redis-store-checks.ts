import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { OutboxStore, RowId } from '../../../src/store/index.ts'
import { memberOf } from '../../../src/stores/redis/redis-keys.ts'
import { storeChecks } from '../../../src/testing/store-checks/index.ts'

/** Runs the store contract on Redis, each check under a prefix of its own. `setField` sets a field of a hash. */
export function runRedisStoreChecks<Tx>(
  name: string,
  openStore: (prefix: string) => OutboxStore<Tx>,
  setField: (key: string, field: string, value: string) => Promise<unknown>,
): void {
  // They spend most of the time waiting for leases to run out: a server's clock cannot be set.
  describe(name, { concurrency: 6 }, () => {
    it('partitions, lanes and keys', { skip: 'Redis does not keep order by key' }, () => {})

    for (const [index, check] of storeChecks.filter((each) => !each.needsPartitions).entries()) {
      it(check.name, async () => {
        const prefix = `check-${process.pid}-${index}`
        const open = async () => {
          const store = openStore(prefix)
          await store.migrate()
          return store
        }
        const store = await open()
        const spoil = async ({ eventId }: RowId) => {
          const [row] = await store.query({ eventId, limit: 1 })
          await setField(`{${prefix}}:rows`, memberOf(row!.seq), 'no JSON')
        }
        await check.run({ store, wait: (ms) => delay(ms), another: open, spoil })
      })
    }
  })
}
