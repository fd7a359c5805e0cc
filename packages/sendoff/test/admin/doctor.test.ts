import { deepEqual, match, rejects } from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { outboxAdmin } from '../../src/admin/index.ts'
import { systemClock } from '../../src/clock.ts'
import { type OutboxStore, type ProcessReport, type StoreWith } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { sampleRow } from '../../src/testing/store-checks/sample-rows.ts'
import { sendoffVersion } from '../../src/version.ts'
import { codesOf, expectFinding } from '../fixtures/doctor-codes.ts'
import { storeKinds, temporaryFolder } from '../fixtures/stores.ts'

type TestStore = StoreWith<any, 'people'>

const report: ProcessReport = {
  version: sendoffVersion,
  host: 'here',
  pid: 7,
  startedAt: 0,
  types: [],
  queues: { hot: 0, cold: 0 },
  held: { leased: 0, locked: 0 },
  partitions: 0,
  hotShare: null,
  listenerBuckets: '',
}

async function join(store: TestStore, id: string, mode: string | null, fields: Partial<ProcessReport> = {}) {
  await store.nodes.join({ id, mode, ttlMs: 60_000 })
  await store.reports!.report({ id, report: { ...report, startedAt: Date.now(), ...fields }, statistics: [] })
}

async function write(store: TestStore, eventType: string) {
  await store.transaction((tx: object) => store.insert({ tx, rows: [{ ...sampleRow(), eventType }] }))
}

for (const kind of storeKinds) {
  describe(`the doctor of an outbox on ${kind.name}`, () => {
    it('finds events that no process delivers, and types without a listener', async (test) => {
      const store = (await kind.open(test))()
      await store.migrate()
      deepEqual(await codesOf(store), [])
      await write(store, 'Placed')
      const none = await expectFinding(store, 'NO_WORKER', 'error')
      match(none.message, /no living process delivers/)

      await join(store, 'writer', null)
      await expectFinding(store, 'NO_WORKER', 'error')
      await join(store, 'worker', 'multiNode', { types: ['Paid'] })
      const types = await expectFinding(store, 'TYPES_WITHOUT_LISTENER', 'warning')
      match(types.message, /Placed/)
      await join(store, 'other', 'multiNode', { types: ['Placed'] })
      deepEqual(await codesOf(store), [])
    })

    it('finds old versions that are alive, and clocks that are apart', async (test) => {
      const store = (await kind.open(test))()
      await store.migrate()
      await join(store, 'worker', 'multiNode', { version: '0.0.9', types: null })
      const versions = await expectFinding(store, 'VERSIONS_DIFFER', 'warning')
      match(versions.message, /worker \(0\.0\.9\)/)

      await join(store, 'worker', 'multiNode', { startedAt: Date.now() - 3_600_000, types: null })
      const clocks = await expectFinding(store, 'CLOCKS_APART', 'info')
      match(clocks.message, /worker/)
      await join(store, 'worker', 'multiNode', { types: null })
      deepEqual(await codesOf(store), [])

      const ahead = { ...systemClock, now: () => Date.now() + 3_600_000 }
      const [finding] = await outboxAdmin({ store, clock: ahead }).doctor()
      deepEqual([finding!.code, finding!.severity], ['CLOCKS_APART', 'info'])
      match(finding!.message, /60 min ahead/)
    })

    it('finds that events become DEAD', async (test) => {
      const store = (await kind.open(test))()
      await store.migrate()
      await join(store, 'worker', 'multiNode', { types: null })
      const counts = { done: 5, failed: 0, dead: 3, deferred: 0, hot: 0, listenerMs: 1 }
      const minute = Math.floor(Date.now() / 60_000) * 60_000
      await store.reports!.report({
        id: 'worker',
        report: { ...report, startedAt: Date.now(), types: null },
        statistics: [
          {
            minute,
            eventType: 'Placed',
            destination: '',
            listenerBuckets: '',
            deliveryBuckets: '',
            ...counts,
          },
        ],
      })
      const growing = await expectFinding(store, 'DEAD_GROWING', 'warning')
      match(growing.message, /Placed 3/)
    })
  })
}

describe('the doctor', () => {
  it('finds living processes of different modes', async (test) => {
    const file = path.join(await temporaryFolder(test), 'app.db')
    const store = sqliteStore({ open: () => new DatabaseSync(file) })
    test.after(() => store.close())
    await store.migrate()
    await join(store, 'one', 'multiNode', { types: null })
    // The store refuses the second mode, but a hand can write anything.
    const hand = new DatabaseSync(file)
    hand.exec(`insert into outbox_event_node (id, mode, started_at, until)
               select 'two', 'singleNode', started_at, until from outbox_event_node`)
    hand.close()
    const differ = await expectFinding(store, 'MODES_DIFFER', 'error')
    match(differ.message, /multiNode, singleNode/)
  })

  it('returns the worst first, and refuses options that do not fit', async (test) => {
    const store = (await storeKinds[0]!.open(test))()
    const findings = ['info', 'error', 'warning'].map((severity) => ({
      code: 'OWN_CODE',
      severity: severity as 'info',
      message: 'It is so.',
      fix: 'Do it.',
    }))
    const own: OutboxStore<any> = { ...store, doctor: async () => findings }
    deepEqual(
      (await outboxAdmin({ store: own }).doctor()).map(({ severity }) => severity),
      ['error', 'warning', 'info'],
    )
    await rejects(outboxAdmin({ store }).doctor({ longTransactionMs: -1 }), { code: 'OUTBOX_INVALID_OPTION' })
    await rejects(outboxAdmin({ store }).doctor({ bloat: 1 } as never), { code: 'OUTBOX_UNKNOWN_OPTION' })
  })
})
