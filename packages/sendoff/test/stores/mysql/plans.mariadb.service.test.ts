import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EventStatus } from '../../../src/store/event-status.ts'
import { isOnMysql } from '../../../../../test/services/servers/mysql/on-mysql.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { mysqlTables } from '../../../src/stores/mysql/schema/mysql-tables.ts'
import { timeValue } from '../../../src/stores/mysql/sql/statement-values.ts'
import { statementsFor } from '../../../src/stores/mysql/sql/statements.ts'
import { doneOf, insertRows, leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { MysqlDatabase } from './mysql-database.ts'

const doneRows = 200_000
/** MySQL also counts reads of the pauses, two for each row. */
const counted = isOnMysql ? 3 : 1
const lease = leaseOf('test')
const options = { from: false, skipRecent: false }
const seqs = [1, 2, 3, 4, 5, 6, 7, 8]
const rows = `seq in (${seqs.join(', ')})`
const fences = '(seq, deliveries) in ((1, 1), (2, 1), (3, 1))'
const keyed = "event_id in ('a', 'b') and (event_id, destination) in (('a', ''), ('b', ''))"

const database = await MysqlDatabase.create('plans')
const pool = database.mysql2Pool()
const store = mysqlStore({ client: pool })
const statements = statementsFor(mysqlTables(undefined, 'outbox_event'))
after(() => database.drop())

describe('mysql store: plans on a table of few rows', () => {
  before(async () => {
    await store.migrate()
    await insertRows(store, sampleRows(10))
    await pool.query(
      `insert into outbox_event_attempt (event_id, destination, attempts, failed_at, error)
       select event_id, destination, 1, created_at, 'failed' from outbox_event`,
    )
    await pool.query('analyze table outbox_event, outbox_event_attempt')
  })

  // What reads a whole table waits for every row in it that is not committed yet.
  const locking = {
    claim: [statements.claim(options, 5).skipping, 'due'],
    claimTypes: [statements.claim({ ...options, to: true, types: 1 }, 5).skipping, 'due'],
    claimKeys: [statements.claimKeys(keyed, options, 5).skipping, 'event'],
    claimByKeys: [statements.claim(options, 5).byKeys(seqs), 'PRIMARY'],
    claimKeysByKeys: [statements.claimKeys(keyed, options, 5).byKeys(seqs), 'PRIMARY'],
    leftRowsByKeys: [statements.leftRows(false).byKeys(seqs), 'PRIMARY'],
    freePartitionsByKeys: [statements.freePartitions('1, 2, 3').byKeys([1, 2, 3]), 'PRIMARY'],
    outlivedRowsByKeys: [statements.outlivedRows('status = 1').byKeys(seqs), 'PRIMARY'],
    forgetOldKeys: [statements.forgetOldKeys("`key` in ('a', 'b')", 2), 'PRIMARY'],
    lease: [statements.lease(rows), 'PRIMARY'],
    leaseKeys: [statements.leaseKeys(rows), 'PRIMARY'],
    renew: [statements.renew(rows, fences), 'PRIMARY'],
    settleDone: [statements.settleDone(rows, fences), 'PRIMARY'],
    settleDelete: [statements.settleDelete(rows, fences, 3), 'PRIMARY'],
    settle: [statements.settle('status = 3', rows), 'PRIMARY'],
    lockRows: [statements.lockRows(rows), 'PRIMARY'],
    deleteRows: [statements.deleteRows(rows, 8), 'PRIMARY'],
    deleteAttempts: [statements.deleteAttempts(keyed), 'event'],
    replay: [statements.replay(rows), 'PRIMARY'],
    actionRows: [statements.actionRows(keyed, false), 'event'],
    freeActionRows: [statements.actionRows(keyed, true), 'event'],
    leftRows: [statements.leftRows(false).skipping, 'due'],
    countLossesOfHeld: [statements.countLossesOfHeld(rows, fences), 'PRIMARY'],
    lockNames: [statements.lockNames("'write/001', 'write/002'"), 'PRIMARY'],
    lapsedLocks: [statements.lapsedLocks("'partitions/a', 'partitions/b'", true), 'PRIMARY'],
    freePartitions: [statements.freePartitions('1, 2, 3').skipping, 'PRIMARY'],
    takePartitions: [statements.takePartitions('1, 2, 3'), 'PRIMARY'],
    releasePartitions: [statements.releasePartitions('1, 2, 3', '(1, 1), (2, 1)'), 'PRIMARY'],
    outlivedRows: [statements.outlivedRows('status = 1').skipping, 'PRIMARY'],
    usedKeys: [statements.usedKeys("`key` in ('a', 'b')"), 'PRIMARY'],
    forgetKeys: [statements.forgetKeys("`key` in ('a', 'b')", 2), 'PRIMARY'],
  } as const
  for (const [name, [text, key]] of Object.entries(locking)) {
    it(`${name} locks rows by their index`, async () => {
      const [table] = await explained(text)
      deepEqual([table!.type, table!.key], ['range', key])
    })
  }
})

describe(`mysql store: plans on a table of ${doneRows} DONE rows`, () => {
  before(async () => {
    await store.migrate()
    await pool.query('delete from outbox_event')
    await insertDone(doneRows)
    await insertRows(store, sampleRows(1_000))
    await pool.query('analyze table outbox_event')
  })

  it('a claim reads the rows that it takes, in order, and no others', async () => {
    const text = statements.claim(options, 500).skipping
    const [table] = await explained(text)
    deepEqual([table!.type, table!.key], ['range', 'due'])
    ok(!/filesort|temporary/.test(table!.Extra), table!.Extra)

    ok((await rowsRead(async (run) => equal((await run(text)).length, 500))) < 510 * counted)
  })

  it('a claim of some types reads the rows of its window, and no others', async () => {
    const read = await rowsRead(async (run) => {
      const [end] = (await run(statements.windowEnd(options, 200))) as Record<string, unknown>[]
      const at = timeValue(Number(Object.values(end!)[0]))
      const text = statements.claim({ ...options, to: true, types: 1 }, 500).skipping
      const types = [Buffer.from('Order'), Buffer.from('Foreign')]
      equal((await run(text, [at, at, end!['seq'], ...types])).length, 0)
    })
    ok(read <= 410, `read ${read} rows`)
  })

  it('reading dead rows and pending ones do not touch the others either', async () => {
    const reads = {
      dead: statements.query('dead', 'true', 500),
      pending: statements.query('pending', 'true', 500),
    }
    for (const [name, text] of Object.entries(reads)) {
      const read = await rowsRead((run) => run(text))
      ok(read <= 2_100, `${name} read ${read} rows`)
    }
    equal(await store.people.count({ status: [EventStatus.NEW, EventStatus.RETRY] }), 1_000)
  })

  it('a lane is read by its key, and a search for keys by due time, whatever waits behind a key', async () => {
    await insertRows(store, sampleRows(1_000, { orderingKey: 'long', partitionNo: 1 }))
    await insertRows(store, sampleRows(5, { orderingKey: 'short', partitionNo: 1 }))
    const keys = [Buffer.from('long'), Buffer.from('short')]
    const reads = {
      dueKeys: [statements.dueKeys(options, 500), [], 510],
      firstOfLanes: [statements.firstOfLanes(2, 10, 'any'), keys, 60],
      lanes: [statements.lanes(2, 10, 'any', false), keys, 60],
      lanesOfOne: [statements.lanes(2, 10, 'filtered', false), keys.flatMap((key) => [key, '']), 60],
      skipping: [statements.lanes(2, 10, 'any', true), keys, 150],
      heads: [statements.headsOfKeys(2), keys.flatMap((key) => [key, '']), 20],
      waiting: [statements.waitingBehind(1, 100), [keys[0]!, '', 0], 250],
      oneLane: [statements.oneLane(20), [0, 0, 0], 200],
      troubled: [statements.troubledKeys(10), [Buffer.alloc(0), '', 'park', Buffer.alloc(0)], 10],
      lockHead: [statements.lockHead, [keys[0]!, ''], 10],
    } as const
    for (const [name, [text, values, most]] of Object.entries(reads)) {
      const read = await rowsRead((run) => run(text, [...values]))
      ok(read <= most * counted, `${name} read ${read} rows`)
    }
  })

  it('an empty claim reads next to nothing', async () => {
    await store.settle({ settlements: (await store.claim({ lease, limit: 3_000 })).map(doneOf) })
    equal(await rowsRead(async (run) => equal((await run(statements.anyDue(options))).length, 0)), 1)
  })

  /** How many rows the server has read for what is done on one connection. */
  async function rowsRead(
    work: (run: (text: string, values?: unknown[]) => Promise<unknown[]>) => Promise<unknown>,
  ): Promise<number> {
    const connection = await pool.getConnection()
    try {
      await connection.query('set transaction isolation level read committed')
      await connection.beginTransaction()
      await connection.query('flush status')
      await work(async (text, values) => (await connection.query(text, values))[0] as unknown[])
      const [rows] = await connection.query("show session status like 'Handler_read%'")
      return (rows as { Value: string }[]).reduce((sum, row) => sum + Number(row.Value), 0)
    } finally {
      await connection.rollback()
      connection.release()
    }
  }
})

interface ExplainedTable {
  readonly type: string
  readonly key: string
  readonly Extra: string
}

/** The plan of a statement, of which the parameters do not matter. */
async function explained(text: string): Promise<readonly ExplainedTable[]> {
  const seqs = ['1', '9']
  const filled = text.replaceAll(/(?<= seq \S+ )\?/g, () => seqs.shift()!).replaceAll('?', "'2026-01-01'")
  const [rows] = await pool.query(`explain format=traditional ${filled}`)
  return rows as ExplainedTable[]
}

async function insertDone(count: number): Promise<void> {
  const digits = `(select ${[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].join(' as n union all select ')})`
  const places = Math.ceil(Math.log10(count))
  const names = Array.from({ length: places }, (_, place) => `d${place}`)
  await pool.query(`
    insert into outbox_event (event_id, destination, event_type, aggregate_type, status, available_at, occurred_at,
                              created_at, done_at, payload)
    select concat('done-', ${names.map((name) => `${name}.n`).join(", ',', ")}), '', 'OrderPlaced', 'Order', 1,
           utc_timestamp(3), utc_timestamp(3), utc_timestamp(3), utc_timestamp(3), '{}'
      from ${names.map((name) => `${digits} as ${name}`).join(' cross join ')}
     limit ${count}`)
}
