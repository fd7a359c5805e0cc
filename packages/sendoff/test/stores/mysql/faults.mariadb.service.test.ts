import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { RowDataPacket } from 'mysql2/promise'
import { EventStatus } from '../../../src/store/event-status.ts'
import type { CompleteStore } from '../../../src/store/index.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { doneOf, insertRows, leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { debianMariadbServer, mariadb } from '../../../../../test/services/servers/mariadb/mariadb.ts'
import type { MariadbServer } from '../../../../../test/services/servers/mariadb/mariadb-server.ts'
import {
  type TemporaryFolder,
  temporaryFolder,
} from '../../../../../test/services/machine/temporary-folder.ts'
import { MysqlDatabase } from './mysql-database.ts'

const lease = leaseOf('test')
// Where the address of a server is given, there need not be one that we may harm.
const skip = !(await mariadb.find()) && 'MariaDB is not on this machine'

describe('mysql store: a server that goes down', { skip }, () => {
  let folder: TemporaryFolder
  let server: MariadbServer
  let database: MysqlDatabase
  const unhandled: unknown[] = []
  const noteUnhandled = (error: unknown) => unhandled.push(error)

  before(async () => {
    folder = temporaryFolder('mariadb')
    server = await debianMariadbServer(folder.path)
    database = await MysqlDatabase.create('faults', server.url)
    process.on('uncaughtException', noteUnhandled)
  })
  after(async () => {
    process.off('uncaughtException', noteUnhandled)
    await database.drop()
    await server.kill()
    folder.remove()
  })

  const openStores = {
    mysql2: () => mysqlStore({ client: database.mysql2Pool() }) as unknown as CompleteStore<object>,
    mariadb: () =>
      mysqlStore({
        client: database.mariadbPool({ acquireTimeout: 1_000 }),
      }) as unknown as CompleteStore<object>,
  }
  for (const [driver, openStore] of Object.entries(openStores)) {
    it(`${driver}: after a restart the same store goes on, with what was committed`, async () => {
      const store = openStore()
      await store.migrate()
      await insertRows(store, sampleRows(5))
      const rows = await store.claim({ lease, limit: 5 })
      await server.restart()

      deepEqual(await eventually(() => store.settle({ settlements: rows.map(doneOf) })), [])
      equal(await store.people.count({ status: [EventStatus.DONE] }), 5)
      await store.purge({ doneOlderThanMs: -1_000, limit: 100 })
    })

    it(`${driver}: a transaction that is open when the server is killed fails, and leaves nothing`, async () => {
      const store = openStore()
      const failed = store.transaction(async (tx) => {
        await store.insert({ tx, rows: [sampleRow()], lease })
        await server.kill()
        await store.insert({ tx, rows: [sampleRow()], lease })
      })
      await rejects(failed)
      await rejects(store.claim({ lease, limit: 1 }))
      await server.start()

      equal(await eventually(() => store.people.count({})), 0)
    })

    it(`${driver}: connections that are cut off are replaced, idle or in use`, async () => {
      const store = openStore()
      const admin = database.mysql2Pool()
      for (let round = 0; round < 3; round += 1) {
        const working = Promise.allSettled(Array.from({ length: 5 }, () => insertRows(store, sampleRows(50))))
        await killOthers(admin)
        await working
      }
      const before = await eventually(() => store.people.count({}))
      equal(before % 50, 0, 'a transaction was kept in part')
      await eventually(() => insertRows(store, sampleRows(1)))

      equal(await store.people.count({}), before + 1)
      while ((await store.purge({ anyOlderThanMs: -1_000, limit: 1_000 })).deletedRows > 0);
    })
  }

  for (const [driver, openStore] of Object.entries(openStores)) {
    it(`${driver}: writes and settles in parts where the server takes short statements only`, async (t) => {
      const admin = database.mysql2Pool()
      const [before] = await admin.query<RowDataPacket[]>('select @@global.max_allowed_packet as bytes')
      await admin.query('set global max_allowed_packet = 1048576')
      t.after(() => admin.query(`set global max_allowed_packet = ${before[0]!['bytes']}`))
      const store = openStore()
      await store.migrate()
      await insertRows(store, sampleRows(500, { payload: JSON.stringify('"'.repeat(3_000)) }))
      const rows = await store.claim({ lease, limit: 500 })
      equal(rows.length, 500)
      const failureOf = ({ eventId }: { eventId: string }) => ({
        error: `Error: ${eventId}${'"\n'.repeat(1_900)}`,
        counted: true,
      })
      const settlements = rows.map((row) => ({
        row,
        outcome: { kind: 'retry', delayMs: 60_000, failure: failureOf(row) } as const,
      }))
      deepEqual(await store.settle({ settlements }), [])
      for (const row of [rows[0]!, rows.at(-1)!]) {
        const attempts = await store.people.attempts(row)
        deepEqual(
          attempts.map(({ error }) => error),
          [failureOf(row).error],
        )
      }
      while ((await store.purge({ anyOlderThanMs: -1_000, limit: 1_000 })).deletedRows > 0);
    })
  }

  it('leaves no error unhandled', () => {
    deepEqual(unhandled, [])
  })

  async function killOthers(admin: ReturnType<MysqlDatabase['mysql2Pool']>): Promise<void> {
    const [rows] = await admin.query(
      `select id from information_schema.processlist where user = 'root' and id <> connection_id()`,
    )
    const ids = (rows as { id: number }[]).map(({ id }) => id)
    for (const id of ids) await admin.query(`kill ${id}`).catch(() => {})
    // One that was committing has committed when it is gone.
    const left = `select id from information_schema.processlist where id in (${ids.join()})`
    while (ids.length > 0 && ((await admin.query(left))[0] as object[]).length > 0);
  }
})

/** What the engine does: tries again. Pools find out one by one that their connections are gone. */
async function eventually<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      ok(attempt < 20, String(error))
    }
  }
}
