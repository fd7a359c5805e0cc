import { deepEqual, equal } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { describe, it } from 'node:test'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { sqliteTables } from '../../../src/stores/sqlite/schema/sqlite-tables.ts'
import { statementsFor } from '../../../src/stores/sqlite/sql/statements.ts'
import { insertRows } from '../../../src/testing/store-checks/check-steps.ts'
import { lanesOf, readLanes, takePart } from '../../../src/testing/store-checks/lane-steps.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

describe('sqlite store: lanes', () => {
  it('reading them, and who shares them, does not wait for a writer', async (t) => {
    const file = await newFile(t)
    const store = sqliteStore({ open: () => new DatabaseSync(file), busyTimeoutMs: 0 })
    t.after(() => store.close())
    await store.migrate()
    await insertRows(store, sampleRows(3, { orderingKey: 'x', partitionNo: 1 }))
    const owner = await takePart(store, 'a')
    const writer = new DatabaseSync(file)
    t.after(() => writer.close())
    writer.exec('begin immediate')

    equal((await readLanes(store, owner, {}))!.rows.length, 3)
    equal((await store.lanes.readAll({ owner, limit: 10 }))!.length, 3)
    deepEqual((await store.partitions.shares(owner))!.participants, ['a'])
    deepEqual(await store.orderingKeys.blocked({ limit: 10 }), [])
    writer.exec('rollback')
  })

  it('rows behind the end of a page are found as well', async (t) => {
    const store = sqliteStore({ open: () => new DatabaseSync(':memory:') })
    t.after(() => store.close())
    await store.migrate()
    const owner = await takePart(store, 'a')
    await insertRows(store, sampleRows(1_100, { orderingKey: 'long', partitionNo: 1 }))
    await insertRows(store, sampleRows(2, { orderingKey: 'last', partitionNo: 2 }))

    const request = { partitions: [2], window: 2_000 }
    equal((await lanesOf(store, owner, request)).flat().length, 2)
    deepEqual(await lanesOf(store, owner, { ...request, window: 1_100 }), [])
  })

  it('every statement goes by an index in its order', () => {
    const { dueKeys, lane, controlledLane, oneLane, headOfKey, waitingBehind, ...others } = statementsFor(
      sqliteTables('outbox_event'),
    )
    const byKey = 'SEARCH outbox_event USING INDEX outbox_event_key (ordering_key=?)'

    deepEqual(planOf(dueKeys), [
      'SEARCH outbox_event USING INDEX outbox_event_due (available_at>? AND available_at<?)',
    ])
    deepEqual(planOf(lane), [byKey])
    equal(planOf(controlledLane)[0], byKey)
    equal(planOf(oneLane)[0], 'SEARCH outbox_event USING INDEX outbox_event_pending (seq>?)')
    deepEqual(planOf(headOfKey), [byKey])
    equal(
      planOf(waitingBehind)[1],
      'SEARCH outbox_event USING INDEX outbox_event_key (ordering_key=? AND seq>?)',
    )
    const troubled = planOf(others.nextTroubledKey)
    equal(troubled[3], 'SEARCH outbox_event USING INDEX outbox_event_failed (ordering_key>?)')
    deepEqual(planOf(others.countLossesOfHeld), [
      'SCAN held VIRTUAL TABLE INDEX 1:',
      'SEARCH outbox_event USING INTEGER PRIMARY KEY (rowid=?)',
    ])
  })
})

async function newFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sendoff-lanes-'))
  t.after(() => rm(folder, { recursive: true }))
  return join(folder, 'test.db')
}

function planOf(sql: string): string[] {
  const handle = new DatabaseSync(':memory:')
  handle.exec(sqliteStore({ open: () => handle }).schemaSql())
  const nulls = Array.from(sql.matchAll(/\?/g), () => null)
  const steps = handle.prepare(`explain query plan ${sql}`).all(...nulls) as { detail: string }[]
  handle.close()
  return steps.map((step) => step.detail)
}
