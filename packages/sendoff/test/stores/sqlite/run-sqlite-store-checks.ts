import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { OutboxStore } from '../../../src/store/index.ts'
import type { SqliteHandle } from '../../../src/stores/sqlite/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { storeChecks } from '../../../src/testing/store-checks/index.ts'

/** Runs the store contract on SQLite, each check on a file of its own and with a clock that `wait` moves. */
export function runSqliteStoreChecks<Handle extends SqliteHandle>(
  driver: string,
  open: (file: string) => Handle,
): void {
  describe(`sqlite store on ${driver}`, () => {
    for (const check of storeChecks) {
      it(check.name, async () => {
        const folder = await mkdtemp(join(tmpdir(), 'sendoff-store-'))
        const opened: OutboxStore<Handle>[] = []
        let time = Date.UTC(2026, 0, 1)

        const openStore = async () => {
          const store = sqliteStore({ open: () => open(join(folder, 'test.db')), now: () => time })
          opened.push(store)
          await store.migrate()
          return store
        }

        try {
          await check.run({
            store: await openStore(),
            wait: async (ms) => {
              time += ms
            },
            another: openStore,
            // A number that is neither text nor bytes, and one that JavaScript cannot count to.
            async spoil({ eventId }) {
              const handle = open(join(folder, 'test.db'))
              handle.exec(
                `update outbox_event set payload = 5, occurred_at = 9223372036854775807 where event_id = '${eventId}'`,
              )
              handle.close()
            },
          })
        } finally {
          await Promise.all(opened.map((store) => store.close()))
          await rm(folder, { recursive: true })
        }
      })
    }
  })
}
