import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { describe, it } from 'node:test'
import { EventStatus } from '../../../src/store/event-status.ts'
import type { RowFilter } from '../../../src/store/index.ts'
import type { SqliteStore } from '../../../src/stores/sqlite/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { sqliteTables } from '../../../src/stores/sqlite/schema/sqlite-tables.ts'
import { statementsFor } from '../../../src/stores/sqlite/sql/statements.ts'
import { replay } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

const lease = { owner: 'test', ms: 30_000 }
const start = Date.UTC(2026, 0, 1)

describe('sqlite store: upkeep', () => {
  it('dead rows are found and counted by their own index', () => {
    const { queryDead, countDead } = statementsFor(sqliteTables('outbox_event'))

    deepEqual(planOf(queryDead), ['SEARCH outbox_event USING INDEX outbox_event_dead (seq>?)'])
    deepEqual(planOf(countDead), ['SCAN outbox_event USING INDEX outbox_event_dead'])
  })

  it('a query or count of dead rows alone takes that way, whatever else the filter says', async (t) => {
    const status = [EventStatus.DEAD]
    const filters: Omit<RowFilter, 'limit'>[] = [
      { status },
      { status: [...status, ...status] },
      { status, eventType: 'Paid', aggregateType: 'Order', aggregateId: '1', tenantId: 'north' },
    ]
    for (const filter of filters) {
      // Statements are prepared once in the life of a store.
      const { store, sql } = await tracedStore(t)
      sql.length = 0
      await store.people.query({ ...filter, limit: 10 })
      await store.people.count(filter)

      deepEqual(
        sql.map((text) => /indexed by "outbox_event_dead"/.test(text)),
        [true, true],
      )
    }
  })

  it('a purge goes by primary key, and by the age of idempotency keys', () => {
    const { purgeWindow, purgeAttempts, purge, purgeIdempotencyKeys } = statementsFor(
      sqliteTables('outbox_event'),
    )
    const rows = 'USING INTEGER PRIMARY KEY (rowid>?'

    match(planOf(purgeWindow).join(), /SEARCH outbox_event USING INTEGER PRIMARY KEY \(rowid>\?\)/)
    deepEqual(planOf(purge), [`SEARCH outbox_event ${rows} AND rowid<?)`])
    deepEqual(searchesOf(purgeAttempts), [
      'SEARCH outbox_event_attempt USING INTEGER PRIMARY KEY (rowid=?)',
      `SEARCH event ${rows} AND rowid<?)`,
      'SEARCH attempt USING COVERING INDEX outbox_event_attempt_row (event_id=? AND destination=?)',
    ])
    deepEqual(searchesOf(purgeIdempotencyKeys), [
      'SEARCH outbox_event_idempotency USING PRIMARY KEY (key=?)',
      'SEARCH outbox_event_idempotency USING COVERING INDEX outbox_event_idempotency_at (created_at<?)',
    ])
  })

  it('a purge ends at the first batch of rows that are all too young', async (t) => {
    const clock = { time: start }
    const { store } = await tracedStore(t, clock)
    await settleDone(store, 4)
    clock.time += 1_000
    await settleDone(store, 6)
    const request = { doneOlderThanMs: 500, limit: 2 }
    const deleted: number[] = []
    let cursor: string | undefined
    do {
      const result = await store.purge({ ...request, ...(cursor !== undefined && { cursor }) })
      deleted.push(result.deletedRows)
      cursor = result.cursor
    } while (cursor !== undefined)

    deepEqual(deleted, [2, 2, 0])
    equal(await store.people.count({}), 6)
  })

  it('a row that was marked DONE by hand, without a time, counts from its beginning', async (t) => {
    const clock = { time: start }
    const { store } = await tracedStore(t, clock)
    await store.transaction(async (tx) => {
      await store.insert({ tx, rows: sampleRows(2), lease })
      tx.exec('update outbox_event set status = case seq when 1 then 1 else 3 end')
    })
    clock.time += 1_000

    const young = await store.purge({ doneOlderThanMs: 1_000, deadOlderThanMs: 1_000, limit: 10 })
    equal(young.deletedRows, 0)
    const old = await store.purge({ doneOlderThanMs: 999, deadOlderThanMs: 999, limit: 10 })
    equal(old.deletedRows, 2)
  })

  it('a limit of nothing still comes to an end', async (t) => {
    const clock = { time: start }
    const { store } = await tracedStore(t, clock)
    await settleDone(store, 1)
    clock.time += 1_000

    const { deletedRows, cursor } = await store.purge({ doneOlderThanMs: 0, limit: -1 })
    equal(deletedRows, 1)
    const rest = await store.purge({ doneOlderThanMs: 0, limit: 0, cursor: cursor! })
    equal(rest.cursor, undefined)
  })

  it('a replay that fails half-way changes nothing', async (t) => {
    const { store } = await tracedStore(t)
    const failure = { error: 'Error: no', counted: true }
    await store.transaction((tx) => store.insert({ tx, rows: sampleRows(3), lease }))
    const rows = await store.claim({ lease, limit: 10 })
    await store.settle({ settlements: rows.map((row) => ({ row, outcome: { kind: 'dead', failure } })) })
    await store.transaction(async (tx) =>
      tx.exec(`
        create trigger refuse before update on outbox_event when old.seq = 3
        begin select raise(abort, 'not this one'); end`),
    )

    await rejects(replay(store, rows), /not this one/)
    equal(await store.people.count({ status: [EventStatus.DEAD] }), 3)
  })

  it('a node that joins again keeps the time at which it started, and writes once', async (t) => {
    const clock = { time: start }
    const { store } = await tracedStore(t, clock)
    await store.nodes.join({ id: 'gone', mode: null, ttlMs: 500 })
    await store.nodes.join({ id: 'a', mode: 'multiNode', ttlMs: 5_000 })
    clock.time += 1_000
    await store.nodes.join({ id: 'a', mode: 'multiNode', ttlMs: 5_000 })
    const nodes = await store.transaction(async (tx) =>
      tx.prepare('select id, mode, started_at, until from outbox_event_node').all(),
    )
    const before = await totalChanges(store)
    await store.nodes.join({ id: 'a', mode: 'multiNode', ttlMs: 5_000 })

    deepEqual(
      nodes.map((node) => ({ ...node })),
      [{ id: 'a', mode: 'multiNode', started_at: start, until: start + 6_000 }],
    )
    equal((await totalChanges(store)) - before, 1)
  })
})

/** A store in memory, with the text of every statement that was prepared. */
async function tracedStore(t: TestContext, clock = { time: start }) {
  const handle = new DatabaseSync(':memory:')
  const sql: string[] = []
  const prepare = handle.prepare.bind(handle)
  handle.prepare = (text, ...rest) => {
    sql.push(text)
    return prepare(text, ...rest)
  }
  const store = sqliteStore({ open: () => handle, now: () => clock.time })
  t.after(() => store.close())
  await store.migrate()
  return { store, sql }
}

async function settleDone(store: SqliteStore<DatabaseSync>, count: number): Promise<void> {
  await store.transaction((tx) => store.insert({ tx, rows: sampleRows(count), lease }))
  const rows = await store.claim({ lease, limit: count })
  deepEqual(await store.settle({ settlements: rows.map((row) => ({ row, outcome: { kind: 'done' } })) }), [])
}

async function totalChanges(store: SqliteStore<DatabaseSync>): Promise<number> {
  const row = await store.transaction(async (tx) => tx.prepare('select total_changes() as count').get())
  return Number(row!.count)
}

function planOf(sql: string): string[] {
  return explained(`query plan ${sql}`).map((step) => String(step.detail))
}

function explained(sql: string): Record<string, unknown>[] {
  const handle = new DatabaseSync(':memory:')
  handle.exec(sqliteStore({ open: () => handle }).schemaSql())
  const nulls = Array.from(sql.matchAll(/\?/g), () => null)
  const steps = handle.prepare(`explain ${sql}`).all(...nulls)
  handle.close()
  return steps
}

function searchesOf(sql: string): string[] {
  return planOf(sql).filter((step) => /SEARCH|SCAN|B-TREE/.test(step))
}
