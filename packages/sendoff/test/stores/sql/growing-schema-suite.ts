import { codeRevision, routingRevision } from '../../../src/stores/schema-revision.ts'
import { deepEqual, equal, match, ok, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { outboxAdmin } from '../../../src/admin/index.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { EventStatus } from '../../../src/store/event-status.ts'
import type { CompleteStore } from '../../../src/store/index.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

/** A store whose schema tests change by hand. */
export interface GrowingStore extends CompleteStore<any> {
  schemaSql(options?: { from?: number; destinations?: boolean }): string
}

/** A database with the schema of revision 1, as the first release made it. */
export interface FirstSchema {
  readonly store: GrowingStore
  /** Runs SQL of several statements. */
  readonly run: (sql: string) => Promise<void>
  /** The rows of `<table>_meta`. */
  readonly meta: () => Promise<Record<string, string>>
  /** Columns and indexes of all tables, as text in a stable order. */
  readonly shape: () => Promise<readonly string[]>
  /** The name of `<table>_meta` in SQL, and its column `key`. */
  readonly metaTable: string
  readonly keyColumn: string
  /**
   * Migrates with code that is killed before its statement number `count`. Returns whether it was. Leaves the
   * lock row of the killed process behind, but lets it run out.
   */
  readonly migrateUntilKilled: (count: number) => Promise<boolean>
}

/** What removes a database again: a test, or a part of it. */
export interface TestScope {
  after(remove: () => unknown): void
}

const lease = { owner: 'test', ms: 30_000 }

/** The rules of a schema that grows under running processes, for every SQL store. */
export function growingSchemaSuite(name: string, open: (t: TestScope) => Promise<FirstSchema>): void {
  describe(`${name}: a schema that grows`, () => {
    it('a migrated table still has the version that the first release accepts', async (t) => {
      const { store, meta } = await open(t)
      deepEqual((await meta())['version'], '1')
      equal((await meta())['revision'], undefined)
      await store.migrate()

      const { version, revision, oldest_code: oldest, made_by: madeBy } = await meta()
      deepEqual({ version, revision, oldest }, { version: '1', revision: String(codeRevision), oldest: '1' })
      ok(/^\d+\.\d+\.\d+/.test(madeBy ?? ''))
    })

    it('rows, leases and registrations stay when the schema grows', async (t) => {
      const { store } = await open(t)
      await store.transaction((tx) => store.insert({ tx, rows: sampleRows(3), lease }))
      const [held] = await store.claim({ lease, limit: 1 })
      await store.nodes.join({ id: 'old', mode: 'multiNode', ttlMs: 60_000 })
      await store.migrate()

      equal((await store.nodes.join({ id: 'new', mode: 'ordered', ttlMs: 1_000 })).kind, 'conflict')
      deepEqual(await store.settle({ settlements: [{ row: held!, outcome: { kind: 'done' } }] }), [])
      equal(await store.people.count({}), 3)
    })

    it('the SQL of the schema leads from revision 1 to the same tables as migrate, and can run again', async (t) => {
      const migrated = await open(t)
      await migrated.store.migrate()
      const shape = await migrated.shape()
      for (const from of [0, 1]) {
        const { store, run, meta, shape: shapeNow } = await open(t)
        await store.nodes.join({ id: 'old', mode: 'multiNode', ttlMs: 60_000 })
        for (let round = 0; round < 2; round += 1) {
          await run(store.schemaSql({ from }))
          deepEqual(await shapeNow(), shape)
        }
        equal((await meta())['revision'], String(codeRevision))
        equal((await store.nodes.join({ id: 'new', mode: 'ordered', ttlMs: 1_000 })).kind, 'conflict')
        await store.migrate()
        deepEqual(await shapeNow(), shape)
        for (let later = 2; later <= codeRevision; later += 1) await run(store.schemaSql({ from: later }))
        deepEqual(await shapeNow(), shape)
      }
    })

    it('the SQL from a revision that does not exist is refused, because it would record a schema without its tables', async (t) => {
      const { store } = await open(t)
      for (const from of [-1, 1.5, NaN, codeRevision + 1, 1e9, '1' as never]) {
        const refused = { code: 'OUTBOX_INVALID_OPTION', message: new RegExp(`from 0 to ${codeRevision}`) }
        throws(() => store.schemaSql({ from }), refused)
      }
      throws(() => store.schemaSql({ form: 1 } as never), { code: 'OUTBOX_UNKNOWN_OPTION' })
      ok(!store.schemaSql({ from: codeRevision }).includes('create table'))
      equal(store.schemaSql({}), store.schemaSql({ from: 0, destinations: false }))
    })

    it('an operator looks at a schema of the first release, and learns what to run before they can act', async (t) => {
      const { store } = await open(t)
      const rows = sampleRows(2)
      await store.transaction((tx) => store.insert({ tx, rows, lease }))
      const held = await store.claim({ lease, limit: 1 })
      const outcome = { kind: 'dead', failure: { error: 'Error: no', counted: true } } as const
      await store.settle({ settlements: held.map((row) => ({ row, outcome })) })
      const admin = outboxAdmin({ store }).as('ann')
      const [dead] = (await admin.browse({ status: 'DEAD' })).events
      equal((await admin.failures()).groups.length, 1)
      deepEqual(await admin.paused(), [])
      const plan = await admin.plan('replay', {}, { all: true })
      const behind = {
        code: 'OUTBOX_SCHEMA_NOT_READY',
        message: /revision 2.*store\.migrate\(\).*store\.schemaSql\(\)/,
      }
      for (const call of [
        () => admin.overview(),
        () => admin.event(dead!.eventId),
        () => admin.run(plan),
        () => admin.resumeRun('1'),
        () => admin.replayEdited(dead!.eventId, {}),
        () => admin.audit.list(),
        () => admin.audit.purge({ olderThanMs: 1 }),
      ]) {
        await rejects(call(), behind, String(call))
      }
      equal(await store.people.count({ status: [EventStatus.DEAD] }), 1)
      equal(await store.people.count({}), 2)

      // Without a new admin.
      await store.migrate()
      equal((await admin.overview()).counts.DEAD.count, 1)
      equal((await admin.run(plan)).acted, 1)
    })

    it('new code starts and delivers before its migration', async (t) => {
      const { store, meta } = await open(t)
      await store.checkSchema()
      const metrics = new SignalMetrics()
      const outbox = await Outbox.multiNode({
        store,
        listeners: new ListenerRegistry().registerDefault(() => {}),
        migrate: false,
        logger: false,
        metrics,
      }).start()
      await outbox.transaction(() => outbox.write('E', 1))
      await metrics.until((seen) => seen.dispatchSuccess === 1)
      await outbox.close()
      equal((await meta())['revision'], undefined)
    })

    it('reports need the migration: without it a call names what to run, and deliveries go on', async (t) => {
      const { store } = await open(t)
      const notReady = {
        code: 'OUTBOX_SCHEMA_NOT_READY',
        message: /lacks tables or columns of revision 2.*store\.migrate\(\)/,
      }
      await rejects(store.reports.living(), notReady)
      await rejects(store.reports.statistics({ lastMs: 1, limit: 1 }), notReady)
      await rejects(store.reports.forgetStatistics({ olderThanMs: 1, limit: 1 }), notReady)
      const warnings: string[] = []
      const ignore = () => {}
      const outbox = await Outbox.multiNode({
        store: Object.assign(Object.create(store) as GrowingStore, { close: async () => {} }),
        migrate: false,
        logger: { debug: ignore, info: ignore, warn: (text) => void warnings.push(text), error: ignore },
      }).start()
      await outbox.close()
      const [behind, ...others] = warnings
      match(
        behind!,
        new RegExp(`has revision 1, and this version of sendoff has ${codeRevision}.*\\(SCHEMA_BEHIND\\)`),
      )
      ok(others.length <= 1 && others.every((text) => /could not report/.test(text)), warnings.join())

      // Without a restart.
      await store.migrate()
      deepEqual(await store.reports.living(), [])
      deepEqual(await store.reports.statistics({ lastMs: 1, limit: 1 }), [])
    })

    it('an inbox marks messages before its migration, and keeps the marks', async (t) => {
      const { store } = await open(t)
      const mark = () =>
        store.transaction((tx) => store.inbox.mark({ tx, consumer: 'billing', messageId: 'm-1', wait: true }))
      equal(await mark(), 'marked')
      equal(await mark(), 'duplicate')
      await store.migrate()
      equal(await mark(), 'duplicate')
      const request = { consumer: 'billing', olderThanMs: 3_600_000, limit: 5 }
      deepEqual(await store.inbox.purge(request), { deleted: 0, cursor: undefined })
    })

    it('the first routing waits for the end of older processes, and then shuts their release out', async (t) => {
      const { store, meta } = await open(t)
      // The first release never reports.
      await store.nodes.join({ id: 'old', mode: 'multiNode', ttlMs: 60_000 })
      await store.nodes.join({ id: 'old writer', mode: null, ttlMs: 60_000 })
      const start = () =>
        Outbox.multiNode({
          store: Object.assign(Object.create(store) as GrowingStore, { close: async () => {} }),
          logger: false,
          routing: { version: 1, rules: [{ to: ['', 'mail'] }], destinations: { mail: {} } },
        }).start()
      await rejects(start(), {
        code: 'OUTBOX_ROUTING_CONFLICT',
        message: /first routing while processes of an older release deliver: old\. /,
      })
      equal(await store.routing.current(), null)
      equal((await meta())['version'], '1')

      await store.nodes.leave('old')
      const outbox = await start()
      await outbox.close()
      const { version, oldest_code: oldest } = await meta()
      deepEqual({ version, oldest }, { version: String(routingRevision), oldest: String(routingRevision) })
      await store.migrate()
      equal((await meta())['version'], String(routingRevision))
    })

    it('a table with a routing gets indexes by destination, also if a migration is killed before any statement', async (t) => {
      const publish = async ({ store, run }: FirstSchema) => {
        await run(store.schemaSql())
        await store.routing.publish({ version: 1, content: '{"rules":[],"default":["","mail"]}' })
      }
      const migrated = await open(t)
      await publish(migrated)
      const before = await migrated.shape()
      await migrated.store.migrate()
      const shape = await migrated.shape()
      ok(shape.length > before.length)

      const byHand = await open(t)
      for (let round = 0; round < 2; round += 1) {
        await byHand.run(byHand.store.schemaSql({ destinations: true }))
        deepEqual(await byHand.shape(), shape)
      }
      await untilNotKilled(isFull ? 1 : 3, async (count, attempt) => {
        const killed = await open(attempt)
        await publish(killed)
        const wasKilled = await killed.migrateUntilKilled(count)
        // Statements do without the indexes, and use them once they are there.
        for (let round = 0; round < 2; round += 1) {
          const { store } = killed
          await store.checkSchema()
          await store.routing.current()
          const rows = ['mail', '', 'mail'].flatMap((destination) => sampleRows(1, { destination }))
          await store.transaction((tx) => store.insert({ tx, rows, lease }))
          for (const [destination, length] of [
            ['mail', 2],
            ['', 1],
          ] as const) {
            equal((await store.claim({ lease, limit: 5, destination })).length, length)
          }
          await store.migrate()
        }
        deepEqual(await killed.shape(), shape, `killed before statement ${count}`)
        return wasKilled
      })
    })

    it('code accepts a newer schema that allows it, and leaves its numbers alone', async (t) => {
      const { store, run, meta, metaTable, keyColumn } = await open(t)
      await store.migrate()
      await run(`update ${metaTable} set value = '7' where ${keyColumn} = 'revision'`)
      await store.migrate()
      await store.checkSchema()
      await run(store.schemaSql())
      equal((await meta())['revision'], '7')

      await run(`update ${metaTable} set value = '9.1.0' where ${keyColumn} = 'made_by'`)
      await run(`update ${metaTable} set value = '6' where ${keyColumn} = 'oldest_code'`)
      const refused = {
        code: 'OUTBOX_SCHEMA_TOO_NEW',
        message: /has revision 7, and code before revision 6 .*Deploy sendoff 9\.1\.0 here/,
      }
      await rejects(store.migrate(), refused)
      await rejects(store.checkSchema(), refused)
    })

    it('a migration that is killed before any of its statements is resumed', async (t) => {
      const migrated = await open(t)
      await migrated.store.migrate()
      const shape = await migrated.shape()
      const last = await untilNotKilled(1, async (count, attempt) => {
        const { store, meta, shape: shapeNow, migrateUntilKilled } = await open(attempt)
        const wasKilled = await migrateUntilKilled(count)
        // Both the old and the new code can start on what is left.
        equal((await meta())['version'], '1')
        await store.checkSchema()
        await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
        equal((await store.claim({ lease, limit: 1 })).length, 1)
        await store.migrate()

        deepEqual(await shapeNow(), shape, `killed before statement ${count}`)
        equal((await meta())['revision'], String(codeRevision))
        return wasKilled
      })
      ok(last > 3)
    })
  })
}

/**
 * Calls `attempt` with 0, `step`, and so on, until a migration is not killed any more. Returns that number.
 * Four attempts run side by side, because each mostly waits for the server to write to its disk. Each removes
 * what it opened.
 */
async function untilNotKilled(
  step: number,
  attempt: (count: number, scope: TestScope) => Promise<boolean>,
): Promise<number> {
  for (let first = 0; ; first += 4 * step) {
    const counts = [0, 1, 2, 3].map((place) => first + place * step)
    const wereKilled = await Promise.all(
      counts.map(async (count) => {
        const leftOver: (() => unknown)[] = []
        try {
          return await attempt(count, { after: (remove) => void leftOver.push(remove) })
        } finally {
          for (const remove of leftOver) await remove()
        }
      }),
    )
    const end = wereKilled.indexOf(false)
    if (end >= 0) return counts[end]!
  }
}

/** Counts statements, and throws from the given one on, as if the process had been killed. */
export function killedBefore(count: number): { step(): void; wasKilled: boolean } {
  let seen = 0
  const killer = {
    wasKilled: false,
    step() {
      if (seen === count) killer.wasKilled = true
      else seen += 1
      if (killer.wasKilled) throw new Error('killed')
    },
  }
  return killer
}
