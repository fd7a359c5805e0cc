// A process of its own that works on a database as the tests tell it: reports `ready`, then does what its
// first argument says as soon as it gets a message, and reports what came of it.
import { once } from 'node:events'
import mysql from 'mysql2/promise'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { serverAddress } from './mysql-database.ts'

const [task, database = '', name = ''] = process.argv.slice(2)
const pool = mysql.createPool({ ...serverAddress(process.env['MARIADB_URL']!), database, connectionLimit: 2 })
const store = mysqlStore({ client: pool })

const tasks: Readonly<Record<string, () => Promise<unknown>>> = {
  migrate: () => store.migrate(),

  /** Claims until nothing comes any more, and answers the ids. */
  async claim() {
    const ids: string[] = []
    for (;;) {
      const rows = await store.claim({ lease: { owner: name, ms: 30_000 }, limit: 25 })
      if (rows.length === 0) return ids
      ids.push(...rows.map((row) => row.eventId))
    }
  },
}

process.send?.('ready')
await once(process, 'message')
const result = await tasks[task ?? '']!()
process.send?.({ result: result ?? null })
await store.close()
await pool.end()
process.disconnect()
