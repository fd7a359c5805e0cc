// A process of its own that works on an SQLite file as `sqlite-store.test.ts` tells it: reports `ready`,
// then does what its first argument says as soon as it gets a message.
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { sampleRow } from '../../../src/testing/store-checks/sample-rows.ts'

const [task, file = '', name = '', count = '0'] = process.argv.slice(2)
const store = sqliteStore({ open: () => new DatabaseSync(file), busyTimeoutMs: 30_000 })

const tasks: Readonly<Record<string, () => Promise<void>>> = {
  async write() {
    for (let index = 0; index < Number(count); index += 1) {
      const row = sampleRow({ eventId: `${name}-${index}` })
      await store.transaction((tx) => store.insert({ tx, rows: [row], lease: { owner: name, ms: 30_000 } }))
    }
  },

  async migrate() {
    await store.migrate()
  },

  async holdWriteLock() {
    await store.transaction(async () => {
      const released = once(process, 'message')
      process.send?.('holding')
      await released
    })
  },
}

process.send?.('ready')
await once(process, 'message')
await tasks[task ?? '']!()
await store.close()
process.disconnect()
