import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { mysqlTables } from '../../../src/stores/mysql/schema/mysql-tables.ts'
import { statementsFor } from '../../../src/stores/mysql/sql/statements.ts'
import { leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { MysqlDatabase } from './mysql-database.ts'

const waitingForMail = 20_000
const options = { from: false, skipRecent: false, destination: true, byDestination: true }
const typed = { ...options, types: 1 }
const types = [Buffer.from('Order'), Buffer.from('OrderPlaced')]
const key = Buffer.from('key-7')
const now = new Date().toISOString().slice(0, -1)

const database = await MysqlDatabase.create('destination_plans')
const pool = database.mysql2Pool()
const store = mysqlStore({ client: pool })
const statements = statementsFor(mysqlTables(undefined, 'outbox_event'))
after(() => database.drop())

describe(`mysql store: plans with ${waitingForMail} rows of another destination`, () => {
  before(async () => {
    await store.migrate()
    await store.routing.publish({ version: 1, content: '{}' })
    await store.migrate()
    await fill('mail', waitingForMail)
    await fill('kafka', 20)
    await pool.query('analyze table outbox_event')
    await store.routing.current()
    await store.locks.acquire({ lock: 'relay', token: 'me', ttlMs: 600_000 })
  })

  // Servers also count reads of the pauses, up to two for each row.
  const reads = {
    anyDue: [statements.anyDue(options), ['kafka'], 5],
    claim: [statements.claim(options, 500).skipping, ['kafka'], 70],
    windowEnd: [statements.windowEnd(options, 20), ['kafka'], 30],
    claimTypes: [statements.claim(typed, 500).skipping, ['kafka', ...types], 70],
    previewPoll: [statements.previewPoll(options), ['kafka', 'relay', 'me'], 70],
    pollDue: [statements.pollDue(options, 500), ['kafka'], 70],
    dueKeys: [statements.dueKeys(options, 500), ['kafka'], 70],
    firstOfLanes: [statements.firstOfLanes(1, 10, 'indexed'), [key, 'kafka'], 20],
    lanes: [statements.lanes(1, 10, 'indexed', false), [key, 'kafka'], 20],
  } as const
  for (const [name, [text, values, most]] of Object.entries(reads)) {
    it(`${name} reads the rows of its destination only, in order`, async () => {
      const [plan] = await pool.query(`explain format=traditional ${text}`, [...values])
      const tables = plan as { key: string | null; Extra: string | null }[]
      ok(
        tables.some((table) => table.key === 'destination' || table.key === 'lane'),
        JSON.stringify(tables),
      )
      ok(!/filesort/.test(JSON.stringify(tables)), JSON.stringify(tables))
      const read = await rowsRead(text, [...values])
      ok(read <= most, `read ${read} rows`)
    })
  }

  it('a store uses the indexes as soon as they are there, and does without them when they are gone', async () => {
    // Without the index, a claim of types examines rows of other destinations within its window.
    const found = async () => {
      await store.routing.current()
      const request = { lease: leaseOf('a'), limit: 1, window: 10, destination: 'kafka' }
      return (await store.claimTypes(request)).rows.length
    }
    equal(await found(), 1)
    await pool.query('alter table outbox_event drop index destination')
    equal(await found(), 0)
    await store.migrate()
    equal(await found(), 1)
  })

  it('a table without a routing has no such index', async () => {
    const other = mysqlStore({ client: pool, table: 'plain' })
    await other.migrate()
    await other.migrate()
    const [rows] = await pool.query(
      `select distinct index_name as name from information_schema.statistics
        where table_schema = database() and table_name = 'plain'`,
    )
    deepEqual((rows as { name: string }[]).map(({ name }) => name).sort(), [
      'PRIMARY',
      'due',
      'event',
      'pending_key',
      'queue',
    ])
  })
})

async function rowsRead(text: string, values: readonly unknown[]): Promise<number> {
  const connection = await pool.getConnection()
  try {
    await connection.query('set transaction isolation level read committed')
    await connection.beginTransaction()
    await connection.query('flush status')
    await connection.query(text, [...values])
    const [rows] = await connection.query("show session status like 'Handler_read%'")
    return (rows as { Value: string }[]).reduce((sum, row) => sum + Number(row.Value), 0)
  } finally {
    await connection.rollback()
    connection.release()
  }
}

async function fill(destination: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => [
    `event-${index + 1}`,
    destination,
    'OrderPlaced',
    'Order',
    `key-${(index + 1) % 10}`,
    1,
    now,
    now,
    now,
    '{}',
  ])
  await pool.query(
    `insert into outbox_event (event_id, destination, event_type, aggregate_type, ordering_key, partition_no,
                               available_at, occurred_at, created_at, payload) values ?`,
    [rows],
  )
}
