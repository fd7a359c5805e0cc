// A process of its own that claims and settles events until none is left: reports `ready`, begins as soon as it
// gets a message, and reports the rows that it claimed, as ranges of their numbers: a message of many thousand
// numbers may arrive after the end of its process.
import { once } from 'node:events'
import mysql from 'mysql2/promise'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { doneOf } from '../../../src/testing/store-checks/check-steps.ts'
import type { Claimed, ClaimingPlace } from './run-claims-by-keys.ts'

const [, place = '', owner = ''] = process.argv.slice(2)
const { url, skipLocked, limit } = JSON.parse(place) as ClaimingPlace
const pool = mysql.createPool({ uri: url, connectionLimit: 2 })
const store = mysqlStore({ client: pool, skipLocked })

process.send?.('ready')
await once(process, 'message')
const ranges: [first: number, last: number][] = []
const begunAt = Date.now()
for (;;) {
  const rows = await store.claim({ lease: { owner, ms: 60_000 }, limit })
  if (rows.length === 0) break
  for (const { seq } of rows) {
    const range = ranges.at(-1)
    if (range !== undefined && range[1] === seq - 1) range[1] = seq
    else ranges.push([seq, seq])
  }
  await store.settle({ settlements: rows.map(doneOf) })
}
process.send?.({ result: { ranges, begunAt, endedAt: Date.now() } satisfies Claimed })
await store.close()
await pool.end()
process.disconnect()
