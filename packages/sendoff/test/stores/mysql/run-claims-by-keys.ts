import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Pool } from 'mysql2/promise'
import { scale } from '../../../../../test/faults/run/scale.ts'
import { partitionCount } from '../../../src/store/partition-of.ts'
import { type MysqlStore, mysqlStore } from '../../../src/stores/mysql/index.ts'
import { eventIds, insertRows, leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { findingsOf } from '../../fixtures/doctor-codes.ts'
import { inProcesses } from '../child-processes.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'
import { MysqlDatabase } from './mysql-database.ts'

/** Where a process claims, and in which form. */
export interface ClaimingPlace {
  readonly url: string
  readonly skipLocked: boolean
  readonly limit: number
}

/** What a process has claimed, and when. */
export interface Claimed {
  /** The numbers of the rows. */
  readonly ranges: readonly (readonly [first: number, last: number])[]
  readonly begunAt: number
  readonly endedAt: number
}

const script = new URL('claiming-process.ts', import.meta.url)

const size = scale({
  small: { rows: 2_000, races: [{ processes: 3, skipLocked: false }] },
  full: {
    rows: 100_000,
    races: [2, 8].flatMap((processes) => [true, false].map((skipLocked) => ({ processes, skipLocked }))),
  },
})

// All statements that would skip locked rows are behind these.
const subjects = scale({
  small: ['claim', 'claimTypes', 'partitions', 'locks', 'purge', 'inbox', 'actions', 'cancel'],
  full: undefined,
})

// Statements that lock rows, and those that TiDB would ignore or refuse.
const locking = /\bfor\s+update\b|in\s+share\s+mode|\bfor\s+share\b/i
const unwanted = /skip\s+locked|in\s+share\s+mode|for\s+share/i

/** Runs the tests of the form without SKIP LOCKED on the server that a variable names. */
export function runClaimsByKeys(server: string, urlVariable: string): void {
  let database: MysqlDatabase
  let pool: Pool
  let store: MysqlStore<object>
  const said = new Set<string>()
  before(async () => {
    database = await MysqlDatabase.create('by_keys', process.env[urlVariable])
    pool = listening(database.mysql2Pool({ connectionLimit: 20 }), said)
    store = mysqlStore({ client: pool, skipLocked: false })
    await store.migrate()
  })
  after(() => database.drop())

  runServerStoreChecks(`mysql store without SKIP LOCKED on ${server}`, {
    openStore: (table) => mysqlStore({ client: pool, table, skipLocked: false }),
    run: (sql) => pool.query(sql),
    subjects,
  })

  describe(`processes that claim on ${server}`, () => {
    beforeEach(() => pool.query('delete from outbox_event'))

    for (const { processes, skipLocked } of size.races) {
      const form = skipLocked ? 'with SKIP LOCKED' : 'by keys'
      it(`${form}: ${processes} of them claim ${size.rows} rows, none twice, and leave none`, async (test) => {
        for (let added = 0; added < size.rows; added += 1_000) await insertRows(store, sampleRows(1_000))
        const place: ClaimingPlace = { url: database.url, skipLocked, limit: 200 }
        const done = await inProcesses<Claimed>(script, processes, 'claim', JSON.stringify(place))
        // Without the start of the processes: eight take 1.3 s on two cores.
        const ms =
          Math.max(...done.map(({ endedAt }) => endedAt)) - Math.min(...done.map(({ begunAt }) => begunAt))
        const perSecond = Math.round((size.rows / ms) * 1_000)
        test.diagnostic(`${server}, ${form}, ${processes} processes: ${perSecond} rows per second`)

        const claimed = done
          .flatMap(({ ranges }) => ranges)
          .flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index))
        equal(claimed.length, size.rows)
        equal(new Set(claimed).size, size.rows)
      })
    }
  })

  describe(`a store without SKIP LOCKED on ${server}`, () => {
    beforeEach(() => pool.query('delete from outbox_event'))

    it('claims in due order, without waiting for a transaction that has written and not ended', async () => {
      const early = sampleRows(20)
      await insertRows(store, early)
      await store.transaction(async (tx) => {
        await store.insert({ tx, rows: sampleRows(3), lease: leaseOf('writer') })
        const rows = await store.claim({ lease: leaseOf('worker'), limit: 30 })
        deepEqual(eventIds(rows), eventIds(early))
      })
    })

    it('never gives a partition to two owners that ask for all at the same time', async () => {
      const tokens = Array.from({ length: 6 }, (_, index) => `token-${index}`)
      const partitions = Array.from({ length: partitionCount }, (_, partition) => partition)
      for (let round = 0; round < scale({ small: 3, full: 50 }); round += 1) {
        const owners = tokens.map((token) => ({ lock: `partitions/${token}`, token }))
        for (const owner of owners) await store.locks.acquire({ ...owner, ttlMs: 60_000 })
        const taken = await Promise.all(
          owners.map((owner) => store.partitions.acquire({ owner, partitions })),
        )

        const all = taken.flat().map(({ partition }) => partition)
        deepEqual(
          all.toSorted((a, b) => a - b),
          partitions,
        )
        for (const [index, owner] of owners.entries()) {
          await store.partitions.release({ owner, partitions: taken[index]! })
          await store.locks.release(owner)
        }
      }
    })

    it('never skips locked rows and never shares a lock, in all of these checks', () => {
      ok(said.size > 0)
      deepEqual(
        [...said].filter((text) => unwanted.test(text)),
        [],
      )
    })

    it('is a finding of the doctor, which says why', async () => {
      const finding = (await findingsOf(store)).get('CLAIMS_BY_KEYS')
      equal(finding?.severity, 'info')
      match(finding.message, /because of the option skipLocked/)
      equal((await findingsOf(mysqlStore({ client: pool }))).get('CLAIMS_BY_KEYS'), undefined)
    })
  })
}

/** Adds the statements with which stores lock rows through a pool to `said`. */
function listening(pool: Pool, said: Set<string>): Pool {
  const getConnection = pool.getConnection.bind(pool)
  pool.getConnection = async () => {
    const connection = await getConnection()
    const query = connection.query.bind(connection) as unknown as (options: { sql: string }) => never
    connection.query = ((options: { sql: string }) => {
      if (locking.test(options.sql)) said.add(options.sql)
      return query(options)
    }) as never
    return connection
  }
  return pool
}
