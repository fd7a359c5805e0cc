import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool, RowDataPacket } from 'mysql2/promise'
import { debianMariadbServer, mariadb } from '../../../../../test/services/servers/mariadb/mariadb.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { isOnMysql } from '../../../../../test/services/servers/mysql/on-mysql.ts'
import { codeRevision } from '../../../src/stores/schema-revision.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { insertRows, leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { codesOf, expectFinding } from '../../fixtures/doctor-codes.ts'
import { MysqlDatabase } from './mysql-database.ts'

describe('the doctor of a MariaDB store', () => {
  let database: MysqlDatabase
  before(async () => {
    database = await MysqlDatabase.create('doctor')
  })
  after(() => database.drop())

  let tables = 0
  const opened = async () => {
    const pool = database.mysql2Pool()
    const table = `t${++tables}`
    const store = mysqlStore({ client: pool, table })
    await store.migrate()
    return { pool, table, store }
  }

  it('finds nothing on a healthy server', async () => {
    deepEqual(await codesOf((await opened()).store), [])
    const store = mysqlStore({ client: database.mariadbPool(), table: 'parts', partitionBy: 'day' })
    await store.migrate()
    deepEqual(await codesOf(store), [])
  })

  it('finds a schema that is missing or behind, indexes that are missing or altered, and another engine', async () => {
    const { pool, table, store } = await opened()
    await expectFinding(mysqlStore({ client: pool, table: 'nowhere' }), 'SCHEMA_MISSING', 'error')
    await pool.query(`update ${table}_meta set value = '1' where \`key\` = 'revision'`)
    await expectFinding(store, 'SCHEMA_BEHIND', 'warning')
    await pool.query(`update ${table}_meta set value = '${codeRevision}' where \`key\` = 'revision'`)

    const cured = async (code: string, severity: 'error' | 'warning', ...statements: readonly string[]) => {
      for (const text of statements) await pool.query(text)
      const finding = await expectFinding(store, code, severity)
      for (const text of finding.sql!.split(';\n')) await pool.query(text.replace(/;$/, ''))
      deepEqual(await codesOf(store), [])
    }
    await cured('INDEX_MISSING', 'error', `drop index due on ${table}`)
    await cured(
      'INDEX_ALTERED',
      'warning',
      `drop index queue on ${table}`,
      `create index queue on ${table} (seq)`,
    )
    // No other engine of MySQL takes these columns and indexes.
    if (!isOnMysql) await cured('ENGINE_NOT_TRANSACTIONAL', 'error', `alter table ${table} engine = Aria`)
  })

  it('finds settings that lose commits, a high isolation level, and a long transaction', async (test) => {
    const { pool, table, store } = await opened()
    await pool.query('set global innodb_flush_log_at_trx_commit = 2')
    test.after(() => pool.query('set global innodb_flush_log_at_trx_commit = 1'))
    const flush = await expectFinding(store, 'DURABILITY_REDUCED', 'warning')
    await pool.query(flush.sql!)

    const careful = database.mysql2Pool({ connectionLimit: 1 })
    await careful.query('set session transaction isolation level serializable')
    await expectFinding(mysqlStore({ client: careful, table }), 'ISOLATION_TOO_HIGH', 'warning')

    const holder = await pool.getConnection()
    await holder.query(`start transaction with consistent snapshot`)
    await holder.query(`select 1 from ${table}`)
    // InnoDB repeats its list of transactions until it was not read for a tenth of a second.
    await delay(200)
    const held = await expectFinding(store, 'HORIZON_HELD', 'warning', { longTransactionMs: 0 })
    match(held.sql!, /^kill \d+;$/)
    await holder.query('rollback')
    holder.release()
    deepEqual(await codesOf(store), [])
  })

  it('needs no right but to read, and says what it could not read', async (test) => {
    const { pool, table, store } = await opened()
    await pool.query('drop user if exists doctor_reader')
    await pool.query('create user doctor_reader')
    test.after(() => pool.query('drop user doctor_reader'))
    await pool.query(`grant select on ${database.name}.* to doctor_reader`)
    const reading = database.mysql2Pool({ user: 'doctor_reader', password: '' })
    const rights = await expectFinding(mysqlStore({ client: reading, table }), 'RIGHTS_MISSING', 'info')
    match(rights.message, /PROCESS/)
    deepEqual(await codesOf(mysqlStore({ client: reading, table })), ['RIGHTS_MISSING'])
    deepEqual(await codesOf(store), [])
  })
})

const skip =
  (isOnMysql && 'MySQL cannot pretend to have another version') ||
  (!(await mariadb.find()) && 'a server of its own needs MariaDB on this machine')

describe('a server with the version of TiDB', { skip }, () => {
  it('is claimed from by keys and not divided by time, and the doctor finds by keys, half-written pages, and connections that run out', async (test) => {
    const folder = temporaryFolder('doctor')
    const server = await debianMariadbServer(folder.path, {
      version: '8.0.11-TiDB-v8.5.0',
      'skip-innodb-doublewrite': 1,
      'max-connections': 10,
    })
    const database = await MysqlDatabase.create('doctor', server.url)
    test.after(async () => {
      await server.kill()
      folder.remove()
    })
    const pool = database.mysql2Pool({ connectionLimit: 9 })
    const store = mysqlStore({ client: pool })
    await store.migrate()
    await pool.query(`set global log_output = 'TABLE', general_log = 1`)
    await insertRows(store, sampleRows(3))
    equal((await store.claim({ lease: leaseOf('worker'), limit: 10 })).length, 3)
    await store.purge({ doneOlderThanMs: 0, limit: 10 })
    equal(await loggedStatements(pool, '%for update'), 1)
    equal(await loggedStatements(pool, '%skip locked%'), 0)

    const claims = await expectFinding(store, 'CLAIMS_BY_KEYS', 'info')
    match(claims.message, /8\.0\.11-TiDB/)
    const wrong = mysqlStore({ client: pool, skipLocked: true })
    await expectFinding(wrong, 'SKIP_LOCKED_IGNORED', 'error')
    await expectFinding(store, 'DURABILITY_OFF', 'error')
    const inParts = mysqlStore({ client: pool, table: 'parts', partitionBy: 'day' })
    const refused = { code: 'OUTBOX_INVALID_OPTION', message: /partitionBy.*TiDB/ }
    await rejects(inParts.migrate(), refused)
    await rejects(inParts.checkSchema(), refused)

    const held = await Promise.all(Array.from({ length: 8 }, () => pool.getConnection()))
    await expectFinding(store, 'CONNECTIONS_SCARCE', 'warning')
    held.forEach((connection) => connection.release())
    await pool.end()
  })
})

/** How many statements like this one the server has logged. */
async function loggedStatements(pool: Pool, pattern: string): Promise<number> {
  const [rows] = await pool.query<RowDataPacket[]>(
    `select count(*) as count
       from mysql.general_log
      where convert(argument using utf8mb4) like ? and command_type = 'Query'
        and convert(argument using utf8mb4) not like '%general_log%'`,
    [pattern],
  )
  return Number(rows[0]!['count'])
}
