import { deepEqual, equal } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { sqliteTables } from '../../../src/stores/sqlite/schema/sqlite-tables.ts'
import { statementsFor } from '../../../src/stores/sqlite/sql/statements.ts'
import { insertRows, leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

const statements = statementsFor(sqliteTables('outbox_event'))
const inDueOrder =
  'SEARCH outbox_event USING INDEX outbox_event_destination (destination=? AND available_at>? AND available_at<?)'
const ofKey = 'SEARCH outbox_event USING INDEX outbox_event_lane (destination=? AND ordering_key=?)'

describe('sqlite store: plans of a table with a routing', () => {
  it('statements for a destination go by its indexes, in their order', async (t) => {
    const { store, handle } = await routedStore(t)
    await insertRows(store, sampleRows(500, { destination: 'mail', orderingKey: 'x', partitionNo: 1 }))
    await insertRows(store, sampleRows(5, { destination: 'kafka', orderingKey: 'x', partitionNo: 1 }))
    for (const analyze of ['', 'analyze']) {
      handle.exec(analyze)
      for (const name of [
        ...(['anyDueOf', 'dueOf', 'anyDueOfTypesOf', 'dueOfTypesOf', 'dueKeysOf'] as const),
        ...(['laneOf', 'controlledLaneOf', 'countLossesOf'] as const),
      ]) {
        const plan = planOf(handle, statements[name])
        equal(plan[0], name.toLowerCase().includes('lane') ? ofKey : inDueOrder, name)
        deepEqual(
          plan.filter((line) => /SCAN outbox_event\b|TEMP B-TREE/.test(line)),
          [],
          name,
        )
      }
      deepEqual(planOf(handle, statements.windowEndOf), [inDueOrder])
    }
  })

  it('a store uses the indexes as soon as they are there, and does without them when they are gone', async (t) => {
    const { store, handle } = await routedStore(t)
    await insertRows(store, sampleRows(20, { destination: 'mail' }))
    await insertRows(store, sampleRows(5, { destination: 'kafka' }))
    // Without the index, a claim of types examines rows of other destinations within its window.
    const found = async () => {
      await store.routing.current()
      const request = { lease: leaseOf('a'), limit: 1, window: 10, destination: 'kafka' }
      return (await store.claimTypes(request)).rows.length
    }
    equal(await found(), 1)
    handle.exec('drop index outbox_event_destination')
    equal(await found(), 0)
    await store.migrate()
    equal(await found(), 1)
  })

  it('a table without a routing has no such index', async (t) => {
    const handle = new DatabaseSync(':memory:')
    const store = sqliteStore({ open: () => handle })
    t.after(() => store.close())
    await store.migrate()
    await store.migrate()
    const names = handle.prepare(`select name from pragma_index_list('outbox_event') order by 1`).all()
    deepEqual(
      names.map(({ name }) => String(name).replace('outbox_event_', '')),
      ['dead', 'due', 'failed', 'key', 'pending', 'sqlite_autoindex_1'],
    )
  })
})

async function routedStore(t: TestContext) {
  const handle = new DatabaseSync(':memory:')
  const store = sqliteStore({ open: () => handle })
  t.after(() => store.close())
  await store.migrate()
  await store.routing.publish({ version: 1, content: '{}' })
  await store.migrate()
  return { store, handle }
}

function planOf(handle: DatabaseSync, sql: string): string[] {
  const rows = handle.prepare(`explain query plan ${sql}`).all() as { detail: string }[]
  return rows.map(({ detail }) => detail)
}
