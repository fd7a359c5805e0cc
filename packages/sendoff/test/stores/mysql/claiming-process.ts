// A process of its own that claims and settles events until none is left: reports `ready`, begins as soon as it
// gets a message, and reports the numbers of the rows that it claimed.
import { once } from 'node:events'
import mysql from 'mysql2/promise'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { doneOf } from '../../../src/testing/store-checks/check-steps.ts'
import type { ClaimingPlace } from './run-claims-by-keys.ts'

const [, place = '', owner = ''] = process.argv.slice(2)
const { url, skipLocked, limit } = JSON.parse(place) as ClaimingPlace
const pool = mysql.createPool({ uri: url, connectionLimit: 2 })
const store = mysqlStore({ client: pool, skipLocked })

process.send?.('ready')
await once(process, 'message')
const result: number[] = []
for (;;) {
  const rows = await store.claim({ lease: { owner, ms: 60_000 }, limit })
  if (rows.length === 0) break
  result.push(...rows.map((row) => row.seq))
  await store.settle({ settlements: rows.map(doneOf) })
}
process.send?.({ result })
await store.close()
await pool.end()
process.disconnect()
