import { deepEqual, equal, notEqual, ok, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { outboxAdmin, type OutboxAdmin, type Plan } from '../../src/admin/index.ts'
import { defineEvent } from '../../src/event/event-type.ts'
import type { NewRow, Outcome, Row, RowAction, StoreWith } from '../../src/store/index.ts'
import { EventStatus } from '../../src/store/event-status.ts'
import { leaseOf } from '../../src/testing/store-checks/check-steps.ts'
import { sampleRow } from '../../src/testing/store-checks/sample-rows.ts'

/** The parts of a store that every admin needs. */
export type AdminTestStore<Tx> = StoreWith<Tx, 'people' | 'looks' | 'actions' | 'controls'>

const Placed = defineEvent('Placed', {
  aggregateType: 'Order',
  schema: z.object({ total: z.number() }),
})

/** Returns the object with another value for one of its properties. */
function instead<Whole extends object, Name extends keyof Whole>(
  whole: Whole,
  name: Name,
  value: Whole[Name],
): Whole {
  return new Proxy(whole, {
    get: (target, key) => (key === name ? value : Reflect.get(target, key)),
  })
}

/** Tests an admin on a store. `open` returns a migrated, empty store that the test need not close. */
export function testAdmin<Tx>(name: string, open: () => Promise<AdminTestStore<Tx>>): void {
  describe(`admin on ${name}`, () => {
    it('the overview counts events and shows what is paused and due', async () => {
      const { store, admin } = await opened()
      await write(store, 3, { eventType: 'Placed', destination: 'mail' })
      await kill(store, 2, 'Error: no')
      await admin.pause({ destination: 'mail' })
      const { counts, groups, paused, oldestDue, at } = await admin.overview()

      deepEqual(
        [counts.NEW, counts.DEAD, counts.PENDING, counts.DONE].map(({ count, isExact }) => [count, isExact]),
        [
          [3, true],
          [2, true],
          [3, true],
          [0, true],
        ],
      )
      ok(
        groups.some(
          ({ status, destination, count }) => status === 'NEW' && destination === 'mail' && count === 3,
        ),
      )
      deepEqual(paused, [{ destination: 'mail' }])
      ok(oldestDue !== undefined && oldestDue.ageMs === at - oldestDue.availableAt)
      await admin.resume({ destination: 'mail' })
      deepEqual(await admin.paused(), [])
      deepEqual(
        (await admin.audit.list()).entries.map(({ action, actor }) => [action, actor]),
        [
          ['resume', 'ann'],
          ['pause', 'ann'],
        ],
      )
    })

    it('the overview shows processes, rates, and pending types without a listener', async () => {
      const { store, admin } = await opened()
      await write(store, 1, { eventType: 'Placed' })
      await write(store, 1, { eventType: 'Orphan' })
      await store.nodes.join({ id: 'p1', mode: 'multiNode', ttlMs: 30_000 })
      const report = {
        version: '1.0.0',
        host: 'h',
        pid: 1,
        startedAt: 1,
        types: ['Placed'],
        queues: { hot: 0, cold: 0 },
        held: { leased: 0, locked: 0 },
        partitions: 0,
        hotShare: null,
        listenerBuckets: '',
      }
      const { at } = await admin.overview()
      const counts = { done: 10, failed: 5, dead: 0, deferred: 0, hot: 0, listenerMs: 10 }
      const buckets = { listenerBuckets: '20:10', deliveryBuckets: '30:10' }
      const kind = { eventType: 'Placed', destination: '' }
      const minute = at - (at % 60_000)
      await store.reports!.report({
        id: 'p1',
        report,
        statistics: [{ minute, ...kind, ...counts, ...buckets }],
      })
      const { processes, rates, typesWithoutListener } = await admin.overview()

      deepEqual(
        processes.map(({ id, mode, report: known }) => [id, mode, known?.host]),
        [['p1', 'multiNode', 'h']],
      )
      deepEqual(
        rates.map(({ eventType, donePerMinute, failedPerMinute }) => [
          eventType,
          donePerMinute,
          failedPerMinute,
        ]),
        [['Placed', 2, 1]],
      )
      ok(rates[0]!.listener.p50Ms! < rates[0]!.delivery.p50Ms!)
      deepEqual(typesWithoutListener, ['Orphan'])
    })

    it('deliveries are added up by the minute, oldest first, with their latencies', async () => {
      const { store, admin } = await opened()
      const { at } = await admin.overview()
      const minute = at - (at % 60_000)
      const of = (begin: number, eventType: string, destination: string, done: number) => ({
        ...{ minute: begin, eventType, destination, done, failed: 1, dead: 0, deferred: 0, hot: done },
        ...{ listenerMs: 10, listenerBuckets: '20:10', deliveryBuckets: '30:10' },
      })
      await store.reports!.report({
        id: 'p1',
        report: {} as never,
        statistics: [
          of(minute, 'A', '', 3),
          of(minute, 'B', 'mail', 6),
          of(minute, 'B', 'mail/filtered', 50),
          of(minute - 600_000, 'A', '', 1),
        ],
      })
      const minutes = await admin.deliveries({ minutes: 30 })

      equal(minutes.length, 30)
      deepEqual(
        minutes
          .filter(({ done }) => done > 0)
          .map((each) => [each.minute, each.done, each.failed, each.hotShare]),
        [
          [minute - 600_000, 1, 1, 0.5],
          [minute, 9, 2, 9 / 11],
        ],
      )
      const { listener, delivery } = minutes.find(({ done }) => done === 9)!
      ok(listener.p50Ms! < delivery.p50Ms!)
      const { done, hotShare, listener: none } = minutes[0]!
      deepEqual([done, hotShare, none.p50Ms], [0, null, undefined])
      equal((await admin.deliveries()).length, 60)
      for (const wrong of [0, 1_441, 1.5]) {
        await rejects(admin.deliveries({ minutes: wrong }), {
          code: 'OUTBOX_INVALID_OPTION',
          message: /1 to 1440/,
        })
      }
    })

    it('the empty destination can be paused and resumed like any other', async () => {
      const { admin } = await opened()
      await admin.pause({ destination: '' })
      deepEqual(await admin.paused(), [{ destination: '' }])
      await admin.resume({ destination: '' })
      deepEqual(await admin.paused(), [])
    })

    it('a name that is missing, or that not every store keeps, is refused before the store is asked', async () => {
      const { store, admin } = await opened()
      await kill(store, 1, 'Error: no')
      const none = undefined as never
      const nul = 'a\0'
      const calls: readonly (() => unknown)[] = [
        () => admin.as('a'.repeat(256)),
        () => admin.as(nul),
        ...[none, '', nul].flatMap((id) => [
          () => admin.event(id),
          () => admin.replayEdited(id, { total: 1 }),
          () => admin.pause({ eventType: id }),
          () => admin.resume({ eventType: id }),
        ]),
        ...[none, '', nul, 'k'.repeat(256)].flatMap((key) => [
          () => admin.keys.retry(key),
          () => admin.keys.skip(key),
          () => admin.keys.park(key),
          () => admin.keys.unpark(key),
        ]),
        () => admin.keys.park('k', 'd'.repeat(51)),
        () => admin.pause({ destination: 'd'.repeat(51) }),
        () => admin.pause({ eventType: 'e'.repeat(129) }),
        () => admin.copy({}, { to: none }),
        () => admin.browse({ text: nul }),
        () => admin.browse({ eventId: '\ud800' }),
        () => admin.browse({ since: new Date(8.64e15) }),
        () => admin.browse({ until: -1e15 }),
        () => admin.plan('replay', { eventType: nul }),
      ]
      for (const call of calls) {
        await rejects(async () => call(), { code: 'OUTBOX_INVALID_OPTION' }, String(call))
      }
      deepEqual((await admin.audit.list()).entries, [])
      const [first, last] = [Date.UTC(1000, 0, 1), Date.UTC(9999, 11, 31)]
      equal((await admin.browse({ since: first, until: last })).events.length, 1)
    })

    it('pages follow one another by cursors, newest or oldest first', async () => {
      const { store, admin } = await opened()
      const ids = (await write(store, 25)).map(({ eventId }) => eventId)
      for (const filter of [{}, { status: 'PENDING' }] as const) {
        for (const order of ['newest', 'oldest'] as const) {
          const seen: string[] = []
          let cursor: string | undefined
          do {
            const page = await admin.browse(filter, { order, limit: 10, ...(cursor && { cursor }) })
            seen.push(...page.events.map(({ eventId }) => eventId))
            cursor = page.cursor
          } while (cursor !== undefined)
          deepEqual(seen, order === 'oldest' ? ids : ids.toReversed())
        }
      }
    })

    it('a foreign or altered cursor is refused', async () => {
      const { store, admin } = await opened()
      await write(store, 3)
      const { cursor } = await admin.browse({}, { limit: 1 })
      const code = { code: 'OUTBOX_INVALID_CURSOR' }
      await rejects(admin.browse({ eventType: 'Paid' }, { cursor: cursor! }), code)
      await rejects(admin.browse({}, { cursor: cursor!, order: 'oldest' }), code)
      await rejects(admin.browse({}, { cursor: `${cursor!}x` }), code)
      await rejects(admin.browse({}, { cursor: 'x' }), code)
      await rejects(admin.audit.list({ cursor: cursor! }), code)
    })

    it('limits of 0, -1 and 1e9 are refused with the range that is allowed', async () => {
      const { admin } = await opened()
      for (const limit of [0, -1, 1e9, 1.5]) {
        const error = { code: 'OUTBOX_INVALID_OPTION', message: /1 to 1000/ }
        await rejects(admin.browse({}, { limit }), error)
        await rejects(admin.audit.list({ limit }), error)
        await rejects(admin.run({} as Plan, { batchSize: limit }), error)
        await rejects(admin.resumeRun('1', { batchSize: limit }), error)
        await rejects(admin.keys.blocked({ limit }), error)
      }
      const error = { code: 'OUTBOX_INVALID_OPTION' }
      for (const wrong of [0, -1, NaN, Infinity, '5' as never]) {
        await rejects(admin.browse({}, { budgetMs: wrong }), { ...error, message: /budgetMs/ })
        await rejects(admin.plan('purge', { eventType: 'A' }, { budgetMs: wrong }), error)
        await rejects(admin.run({} as Plan, { ratePerSecond: wrong }), { ...error, message: /ratePerSecond/ })
        await rejects(admin.resumeRun('1', { ratePerSecond: wrong }), error)
      }
      await rejects(admin.audit.purge({ olderThanMs: -1 }), error)
      await rejects(admin.audit.purge({} as never), error)
    })

    it('blocked and parked keys stand in the overview, and what was done about them in the audit', async (t) => {
      const { store, admin } = await opened()
      if (store.orderingKeys === undefined) return t.skip('the store has no ordering keys')
      const [head] = await write(store, 3, { orderingKey: 'k', partitionNo: 130 })
      const { block } = actionsOn(store)
      await block(head!)
      await admin.keys.park('p')
      const { blockedKeys, parkedKeys, counts } = await admin.overview()
      deepEqual(
        [blockedKeys, parkedKeys, counts.BLOCKED.count],
        [[{ orderingKey: 'k', destination: '' }], ['p'], 1],
      )
      deepEqual(
        (await admin.keys.blocked()).map(({ orderingKey, isParked, waiting }) => [
          orderingKey,
          isParked,
          waiting,
        ]),
        [
          ['k', false, 2],
          ['p', true, 0],
        ],
      )

      equal(await admin.keys.retry('k'), true)
      equal(await admin.keys.retry('k'), false)
      deepEqual((await admin.overview()).blockedKeys, [])
      await block(head!)
      equal(await admin.keys.skip('k', 'No use.'), true)
      equal((await admin.event(head!.eventId))!.row.lastError, 'No use.')
      await admin.keys.unpark('p')
      deepEqual(await admin.keys.blocked(), [])
      deepEqual(
        (await admin.audit.list()).entries.map(({ action, actor, detail, affected }) => [
          action,
          actor,
          JSON.parse(detail!) as unknown,
          affected,
        ]),
        [
          ['unpark', 'ann', { orderingKey: 'p' }, 0],
          ['skipKey', 'ann', { orderingKey: 'k', reason: 'No use.' }, 1],
          ['retryKey', 'ann', { orderingKey: 'k' }, 1],
          ['park', 'ann', { orderingKey: 'p' }, 0],
        ],
      )
    })

    it('the overview names the destination that a key is blocked for', async () => {
      const { store, admin } = await opened()
      const failure = { error: 'Error: no', counted: true }
      const rows = await write(store, 2, { orderingKey: 'k', destination: 'mail' })
      const held = await store.claim({ lease: leaseOf('w'), limit: 2, rows })
      await store.settle({ settlements: held.map((row) => ({ row, outcome: { kind: 'block', failure } })) })
      deepEqual((await admin.overview()).blockedKeys, [{ orderingKey: 'k', destination: 'mail' }])
    })

    it('one event comes with its attempts, its audit and its neighbours, exactly as stored', async () => {
      const { store, admin } = await opened()
      const payload = '{"b":1, "a":2.50}'
      const fields = { payload, headers: '{"x":"1"}', orderingKey: 'k', partitionNo: 130 }
      const rows = await write(store, 3, fields)
      await write(store, 1, { orderingKey: 'other', partitionNo: 7 })
      await kill(store, 0, 'TypeError: boom', [rows[1]!])
      await admin.run(await admin.plan('replay', { eventId: rows[1]!.eventId }))
      const detail = await admin.event(rows[1]!.eventId)

      deepEqual([detail!.row.payload, detail!.row.headers], [payload, '{"x":"1"}'])
      deepEqual(
        detail!.attempts.map(({ error }) => error),
        ['TypeError: boom'],
      )
      deepEqual(
        detail!.audit.map(({ action, actor, affected }) => [action, actor, affected]),
        [['replay', 'ann', 1]],
      )
      deepEqual(
        [detail!.neighbours.before, detail!.neighbours.after].map((list) =>
          list.map(({ eventId }) => eventId),
        ),
        [[rows[0]!.eventId], [rows[2]!.eventId]],
      )
      equal(await admin.event('none'), undefined)
    })

    it('events are copied to another destination as they were written, once each', async () => {
      const { store, admin } = await opened()
      const content = (names: readonly string[]) => JSON.stringify({ rules: [], default: names })
      await store.routing!.publish({ version: 1, content: content(['']) })
      const fields = {
        ...{ eventType: 'Placed', orderingKey: 'Order:ö', headers: '{"tenant":"a"}' },
        ...{ payload: Buffer.from([0, 255]), contentType: 'image/png' },
      }
      const [first] = await write(store, 1, fields)
      const [both] = await write(store, 1, { eventType: 'Placed' })
      await write(store, 1, { eventType: 'Placed', destination: 'kafka' })
      await write(store, 1, { eventType: 'Paid' })
      await kill(store, 1, 'Error: no', [first!])
      const unknown = { code: 'OUTBOX_UNKNOWN_DESTINATION' }
      await rejects(admin.copy({ eventType: 'Placed' }, { to: 'mail' }), unknown)
      await store.routing!.publish({ version: 2, content: content(['', 'mail']) })
      await store.transaction((tx) => store.insert({ tx, rows: [{ ...both!, destination: 'mail' }] }))

      equal(await admin.copy({ eventType: 'Placed' }, { to: 'mail' }), 1)
      equal(await admin.copy({ eventType: 'Placed' }, { to: 'mail' }), 0)
      equal(await store.people.count({ destination: 'mail' }), 2)
      const rows = await store.people.query({ eventId: first!.eventId, limit: 10 })
      const [original, copy] = ['', 'mail'].map((name) =>
        rows.find(({ destination }) => destination === name),
      )
      deepEqual(
        [copy!.destination, copy!.status, copy!.attempts, copy!.lastError],
        ['mail', EventStatus.NEW, 0, null],
      )
      equal(original!.status, EventStatus.DEAD)
      for (const name of ['payload', 'contentType', 'headers', 'orderingKey', 'partitionNo'] as const) {
        deepEqual(copy![name], original![name], name)
      }
      deepEqual(copy!.occurredAt, original!.occurredAt)
      const { entries } = await admin.audit.list()
      equal(entries.filter(({ action }) => action === 'copy').length, 1)
    })

    it('two copies at once leave alone what the other has added, and copy each event once', async () => {
      const { store, admin } = await opened()
      const content = JSON.stringify({ rules: [], default: ['', 'mail'] })
      await store.routing!.publish({ version: 1, content })
      const rows = await write(store, 250, { eventType: 'Placed' })
      // Both have looked for copies before one of them adds any.
      const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const copies = both.map(async (own) => {
        const query: typeof store.people.query = async (filter) => {
          const known = await store.people.query(filter)
          own.resolve()
          await Promise.all(both.map(({ promise }) => promise))
          return known
        }
        const late = instead(store, 'people', instead(store.people, 'query', query))
        return outboxAdmin({ store: late }).as('ann').copy({ eventType: 'Placed' }, { to: 'mail' })
      })
      const [first, second] = await Promise.all(copies)
      equal(first! + second!, rows.length)
      equal(await store.people.count({ destination: 'mail' }), rows.length)
      // A MULTI of Redis keeps the entry of a batch whose insert failed.
      if ((await store.looks.describe()).kind === 'redis') return
      const { entries } = await admin.audit.list()
      equal(
        entries.reduce((sum, { affected }) => sum + affected, 0),
        rows.length,
      )
    })

    it('failures are grouped by class, type and destination, without ids and numbers', async () => {
      const { store, admin } = await opened()
      for (const id of [17, 18, 19]) await kill(store, 1, `TimeoutError: order o-${id} took ${id * 100} ms`)
      await kill(store, 1, 'TypeError: boom')
      const { groups, examined, isComplete } = await admin.failures()

      deepEqual([examined, isComplete], [4, true])
      deepEqual(
        groups.map(({ errorClass, text, count }) => [errorClass, text, count]),
        [
          ['TimeoutError', 'TimeoutError: order <id> took <n> ms', 3],
          ['TypeError', 'TypeError: boom', 1],
        ],
      )
      ok(groups[0]!.sample.error.startsWith('TimeoutError: order o-1'))
    })

    it('a plan runs on what it previewed, and never on what came since', async () => {
      const { store, admin } = await opened()
      await kill(store, 4, 'Error: no')
      const plan = await admin.plan('replay', { errorClass: 'Error' })
      deepEqual([plan.count, plan.isExact, plan.sample.length], [4, true, 4])
      await new Promise((resolve) => setTimeout(resolve, 5))
      const [late] = await kill(store, 1, 'Error: no')
      const progress: number[] = []
      const result = await admin.run(JSON.parse(JSON.stringify(plan)) as Plan, {
        batchSize: 3,
        onProgress: ({ acted }) => progress.push(acted),
      })

      deepEqual([result.acted, result.state, result.held], [4, 'done', 0])
      deepEqual(progress, [3, 4])
      deepEqual(await statuses(store), [0, 0, 0, 0, EventStatus.DEAD])
      equal((await admin.event(late!.eventId))!.row.status, EventStatus.DEAD)
      const entry = await admin.audit.entry(result.id)
      deepEqual([entry.action, entry.actor, entry.affected, entry.state], ['replay', 'ann', 4, 'done'])
      deepEqual((JSON.parse(entry.detail!) as { count: number }).count, 4)
    })

    it('a plan to cancel leaves events alone that were replayed since', async () => {
      const { store, admin } = await opened()
      await write(store, 2, { eventType: 'Placed' })
      const [dead] = await kill(store, 1, 'Error: no')
      const plan = await admin.plan('cancel', {}, { all: true })
      await admin.run(await admin.plan('replay', { eventId: dead!.eventId }))
      const { acted } = await admin.run(plan)

      deepEqual([plan.count, acted], [2, 2])
      equal((await admin.event(dead!.eventId))!.row.status, EventStatus.NEW)
    })

    for (const { name, states, changes } of changedSince) {
      it(`a plan to ${name} leaves every event alone that was changed since`, async () => {
        const { store, admin } = await opened()
        const actions = actionsOn(store)
        const made: { what: string; row: NewRow }[] = []
        const make = async (what: string) => {
          const [row] = await write(store, 1)
          for (const step of what.split(' ')) await actions[step as ActionName](row!)
          made.push({ what, row: row! })
          return row!
        }
        const untouched = await Promise.all(states.map(make))
        const changed = []
        for (const [before, since] of changes) changed.push({ row: await make(before), since })
        const plan = await admin.plan(name, {}, { all: true })
        equal(plan.count, made.filter(({ what }) => states.includes(what)).length)
        for (const { row, since } of changed) {
          for (const step of since.split(' ')) await actions[step as ActionName](row)
        }
        const [late] = await write(store, 1)
        await actions[states[0]! as ActionName](late!)
        const rowsOf = (rows: readonly NewRow[]) =>
          Promise.all(rows.map(async (row) => (await admin.event(row.eventId))?.row))
        const left = [...changed.map(({ row }) => row), late!]
        const before = await rowsOf(left)
        const { acted } = await admin.run(plan, { batchSize: 3 })

        deepEqual(await rowsOf(left), before)
        equal(acted, untouched.length)
        for (const row of await rowsOf(untouched)) {
          equal(row?.status, name === 'purge' ? undefined : name === 'replay' ? 0 : EventStatus.DEAD)
        }
      })
    }

    it('a plan to cancel by what an event failed with leaves events alone that fail in this way since', async () => {
      for (const filter of [{ errorClass: 'Error' }, { text: 'Error: no' }, { status: 'RETRY' }] as const) {
        const { store, admin } = await opened()
        const { retry, defer, dead, replay } = actionsOn(store)
        const rows = await write(store, 6)
        const [failed, failedAgain, replayed, works, waits, doomed] = rows
        await retry(failed!)
        await retry(failedAgain!)
        await dead(replayed!)
        await replay(replayed!)
        await retry(waits!)
        const plan = await admin.plan('cancel', filter, { all: true })
        const fresh = await admin.plan('cancel', { status: 'NEW' }, { all: true })
        deepEqual([plan.count, fresh.count], [3, 3])
        for (const row of [failedAgain!, replayed!, works!]) await retry(row)
        await defer(waits!)
        await dead(doomed!)

        deepEqual([(await admin.run(plan)).acted, (await admin.run(fresh)).acted], [2, 0])
        const { DEAD, RETRY, NEW } = EventStatus
        const states = rows.map(async (row) => (await admin.event(row.eventId))!.row.status)
        deepEqual(await Promise.all(states), [DEAD, DEAD, RETRY, RETRY, NEW, DEAD])
      }
    })

    it('a plan to cancel leaves changed events alone if the audit since has been purged', async () => {
      const { store, admin } = await opened()
      const [dead] = await kill(store, 1, 'Error: no')
      await write(store, 1)
      const plan = await admin.plan('cancel', {}, { all: true })
      await admin.run(await admin.plan('replay', { eventId: dead!.eventId }))
      await new Promise((resolve) => setTimeout(resolve, 5))
      await admin.audit.purge({ olderThanMs: 1 })

      equal((await admin.run(plan)).acted, 1)
      equal((await admin.event(dead!.eventId))!.row.status, EventStatus.NEW)
    })

    it('a plan to cancel knows a replay that began long before, and goes on since', async () => {
      const { store, admin } = await opened()
      const dead = await kill(store, 2, 'Error: no')
      const stop = new AbortController()
      const replay = await admin.run(await admin.plan('replay', {}, { all: true }), {
        batchSize: 1,
        signal: stop.signal,
        onProgress: () => stop.abort(),
      })
      for (let entry = 0; entry < 110; entry++) {
        await store.actions.record({ entry: { actor: 'ann', action: 'note' }, rows: [] })
      }
      const plan = await admin.plan('cancel', {}, { all: true })
      await admin.resumeRun(replay.id)

      deepEqual([plan.count, (await admin.run(plan)).acted], [1, 1])
      equal((await admin.event(dead[1]!.eventId))!.row.status, EventStatus.NEW)
    })

    it('cancel leaves events that a worker holds, and names them', async () => {
      const { store, admin } = await opened()
      const rows = await write(store, 3)
      await store.claim({ lease: leaseOf('worker-7'), limit: 1, rows: [rows[0]!] })
      const plan = await admin.plan('cancel', { eventType: rows[0]!.eventType }, { reason: 'Not wanted.' })
      const result = await admin.run(plan)

      deepEqual([result.acted, result.held], [2, 1])
      deepEqual(result.heldEvents, [{ eventId: rows[0]!.eventId, destination: '', holder: 'worker-7' }])
      const cancelled = await admin.browse({ status: 'DEAD', errorClass: 'Not wanted.' })
      equal(cancelled.events.length, 2)
    })

    it('purge deletes dead events that match', async () => {
      const { store, admin } = await opened()
      await kill(store, 2, 'Error: no')
      await write(store, 1)
      const result = await admin.run(await admin.plan('purge', { status: 'DEAD' }, { all: true }))

      equal(result.acted, 2)
      deepEqual(await statuses(store), [0])
    })

    it('a stopped plan is resumed by another admin, and each event is replayed once', async () => {
      const { store, admin } = await opened()
      await kill(store, 10, 'Error: no')
      const stop = new AbortController()
      const plan = await admin.plan('replay', {}, { all: true })
      const first = await admin.run(plan, {
        batchSize: 2,
        signal: stop.signal,
        onProgress: ({ acted }) => acted >= 4 && stop.abort(),
      })
      deepEqual([first.state, first.acted], ['stopped', 4])
      const other = outboxAdmin({ store }).as('bob')
      const second = await other.resumeRun(first.id)

      deepEqual([second.state, second.acted, second.id], ['done', 10, first.id])
      const rows = await store.people.query({ limit: 100 })
      ok(
        rows.every(
          ({ status, deliveries }) => status === EventStatus.NEW && deliveries === rows[0]!.deliveries,
        ),
      )
      await rejects(other.resumeRun(first.id), { code: 'OUTBOX_INVALID_PLAN', message: /is done/ })
      deepEqual(
        (await admin.audit.list()).entries.map(({ actor, action, detail }) => [
          ...[actor, action, action === 'replay' || detail],
        ]),
        [
          ['bob', 'resumeRun', JSON.stringify({ plan: first.id })],
          ['ann', 'replay', true],
        ],
      )
    })

    it('a run whose plan another process has resumed stops before its next batch', async () => {
      const { store, admin } = await opened()
      await kill(store, 6, 'Error: no')
      const plan = await admin.plan('replay', {}, { all: true })
      const overtaking = Promise.withResolvers<void>()
      let taken: Promise<unknown> | undefined
      // Once the other process has been called, this one acts after the other's first batch only.
      const run: typeof store.actions.run = async (request) => {
        if (taken !== undefined) await Promise.race([overtaking.promise, taken])
        return store.actions.run(request)
      }
      const late = instead(store, 'actions', instead(store.actions, 'run', run))
      const running = outboxAdmin({ store: late })
        .as('ann')
        .run(plan, {
          batchSize: 1,
          onProgress: ({ id }) => {
            taken ??= admin
              .as('bob')
              .resumeRun(id, { ratePerSecond: 1_000, onProgress: () => overtaking.resolve() })
          },
        })

      await rejects(running, { code: 'OUTBOX_PLAN_OVERTAKEN' })
      deepEqual(((await taken) as { acted: number }).acted, 6)
      equal((await admin.audit.list()).entries.length, 2)
    })

    it('two operators who run plans on the same events at once change each event once', async () => {
      const { store, admin } = await opened()
      await kill(store, 20, 'Error: no')
      const plans = await Promise.all(
        ['ann', 'bob'].map((name) => admin.as(name).plan('replay', {}, { all: true })),
      )
      const results = await Promise.all(plans.map((plan) => admin.run(plan, { batchSize: 3 })))

      equal(results[0]!.acted + results[1]!.acted, 20)
      const rows = await store.people.query({ limit: 100 })
      ok(rows.every(({ deliveries }) => deliveries === rows[0]!.deliveries))
    })

    it('two operators who run different plans on the same events at once change each event once', async () => {
      const pairs = [
        { states: 'dead', actions: ['replay', 'purge'] },
        { states: 'fresh', actions: ['cancel', 'cancel'] },
        { states: 'block', actions: ['cancel', 'skip'] },
      ] as const
      for (const { states, actions } of pairs) {
        const { store, admin } = await opened()
        const rows = await write(store, 30)
        for (const row of rows) await actionsOn(store)[states](row)
        const filter = states === 'block' ? ({ status: 'BLOCKED' } as const) : {}
        const plans = await Promise.all(
          actions.map((action, index) =>
            admin.as(['ann', 'bob'][index]!).plan(action, filter, { all: true }),
          ),
        )
        const results = await Promise.all(
          plans.map((plan, index) => admin.as(['ann', 'bob'][index]!).run(plan, { batchSize: 4 })),
        )

        equal(results[0]!.acted + results[1]!.acted, 30, states)
        for (const row of rows) {
          const entries = await store.actions.auditOf({ row, limit: 10 })
          equal(entries.filter(({ plan }) => plan !== null).length, 1, states)
        }
        const left = await store.people.count({})
        equal(left, 30 - (states === 'dead' ? results[1]!.acted : 0))
      }
    })

    it('a foreign, altered or empty plan is refused', async () => {
      const { store, admin } = await opened()
      await kill(store, 2, 'Error: no')
      const plan = await admin.plan('replay', { eventType: 'OrderPlaced' })
      const full = await admin.plan('replay', {}, { all: true })
      const code = { code: 'OUTBOX_INVALID_PLAN' }
      await rejects(admin.run({ ...full, action: 'purge' }), { ...code, message: /altered/ })
      await rejects(admin.run({ ...full, bound: { ...full.bound, seq: 1e9 } }), code)
      await rejects(admin.run({} as Plan), code)
      await rejects(admin.run(null as unknown as Plan), code)
      const other = await opened()
      await rejects(other.admin.run(full), { ...code, message: /made for/ })
      if (plan.count === 0) await rejects(admin.run(plan), { ...code, message: /no event/ })
      const none = await admin.plan('replay', { eventType: 'None' })
      deepEqual([none.count, none.isExact], [0, true])
      await rejects(admin.run(none), { ...code, message: /no event/ })
      deepEqual((await admin.audit.list()).entries, [])
      await admin.pause({ eventType: 'A' })
      const [pause] = (await admin.audit.list()).entries
      await rejects(admin.resumeRun(pause!.id), { ...code, message: /not about a plan/ })
    })

    it('a plan for everything has to say so, and for states that its action cannot change is refused', async () => {
      const { admin } = await opened()
      const code = { code: 'OUTBOX_INVALID_OPTION' }
      await rejects(admin.plan('cancel', {}), { ...code, message: /all: true/ })
      await rejects(admin.plan('replay', { status: 'DEAD' }), { ...code, message: /all: true/ })
      await rejects(admin.plan('replay', { status: 'NEW', eventType: 'A' }), { ...code, message: /DEAD/ })
      await rejects(admin.plan('explode' as 'purge', { eventType: 'A' }), code)
      await rejects(admin.browse({ status: 'LOST' as 'NEW' }), code)
      await rejects(admin.browse({ evenType: 'A' } as object), { code: 'OUTBOX_UNKNOWN_OPTION' })
    })

    it('an action needs an actor, and looking does not', async () => {
      const { store } = await opened()
      await kill(store, 1, 'Error: no')
      const admin = outboxAdmin({ store })
      const plan = await admin.plan('replay', {}, { all: true })
      await rejects(admin.run(plan), { code: 'OUTBOX_INVALID_OPTION', message: /admin\.as/ })
      await rejects(admin.pause({ eventType: 'A' }), /admin\.as/)
      equal((await admin.browse()).events.length, 1)
    })

    it('an edited event is written once, names the one it replaces, and fits its schema', async () => {
      const { store, admin } = await opened()
      const [dead] = await kill(store, 1, 'Error: no', undefined, {
        eventType: 'Placed',
        aggregateType: 'Order',
        headers: '{"trace":"t"}',
      })
      await rejects(admin.replayEdited(dead!.eventId, { total: 'many' }), { code: 'OUTBOX_INVALID_PAYLOAD' })
      await rejects(admin.replayEdited('none', { total: 1 }), { code: 'OUTBOX_INVALID_OPTION' })
      const first = await admin.replayEdited(dead!.eventId, { total: 1 })
      const second = await admin.replayEdited(dead!.eventId, { total: 2 })

      deepEqual([first.isNew, second], [true, { eventId: first.eventId, isNew: false }])
      notEqual(first.eventId, dead!.eventId)
      const { row, audit } = (await admin.event(first.eventId))!
      equal(row.payload, '{"total":1}')
      deepEqual(JSON.parse(row.headers!), { trace: 't', 'sendoff-replaces': dead!.eventId })
      equal(audit[0]!.action, 'replayEdited')
      equal((await admin.event(dead!.eventId))!.audit[0]!.action, 'replayEdited')
    })

    it('an event that is still pending is not edited: its first payload would be delivered, too', async () => {
      const { store, admin } = await opened()
      const [fresh, failed, blocked] = await write(store, 3, { eventType: 'Placed', aggregateType: 'Order' })
      await actionsOn(store).retry(failed!)
      await actionsOn(store).block(blocked!)
      for (const row of [fresh!, failed!, blocked!]) {
        await rejects(admin.replayEdited(row.eventId, { total: 1 }), {
          code: 'OUTBOX_INVALID_OPTION',
          message: /is pending.*Cancel it first/,
        })
      }
      equal(await store.people.count({}), 3)
      deepEqual((await admin.audit.list()).entries, [])

      await admin.run(await admin.plan('cancel', { eventId: blocked!.eventId }))
      equal((await admin.replayEdited(blocked!.eventId, { total: 1 })).isNew, true)
    })

    it('an edited event has the name and the version of its definition', async () => {
      const { store } = await opened()
      const Ordered = defineEvent('Ordered', {
        schema: z.object({ total: z.number() }),
        version: 2,
        upgrade: { 1: () => ({ total: 0 }) },
        aliases: [{ aggregateType: 'Order', eventType: 'Placed' }],
      })
      const [dead] = await kill(store, 1, 'Error: no', undefined, {
        eventType: 'Placed',
        aggregateType: 'Order',
        headers: '{"trace":"t","event-version":"1"}',
      })
      const admin = outboxAdmin({ store, events: [Ordered] as never }).as('ann')
      const { eventId } = await admin.replayEdited(dead!.eventId, { total: 1 })
      const { row } = (await admin.event(eventId))!
      deepEqual([row.aggregateType, row.eventType], ['__GLOBAL__', 'Ordered'])
      equal((JSON.parse(row.headers!) as Record<string, string>)['event-version'], '2')
    })

    it('an edited event counts once in the audit, which knows it by both ids', async () => {
      const { store, admin } = await opened()
      const [dead] = await kill(store, 1, 'Error: no', undefined, { eventType: 'Placed' })
      const { eventId } = await admin.replayEdited(dead!.eventId, { total: 1 })
      equal((await admin.audit.list()).entries[0]!.affected, 1)
      for (const id of [dead!.eventId, eventId]) {
        deepEqual(
          (await admin.event(id))!.audit.map(({ action }) => action),
          ['replayEdited'],
        )
      }
    })

    it('the id of a purged audit entry never comes back', async () => {
      const { store, admin } = await opened()
      await kill(store, 1, 'Error: no')
      const plan = await admin.plan('replay', {}, { all: true })
      const stopped = await admin.run(plan, { signal: AbortSignal.abort() })
      const { at } = await admin.audit.entry(stopped.id)
      while ((await admin.overview()).at <= at) await new Promise((resolve) => setTimeout(resolve, 1))
      await store.actions.purgeAudit({ olderThanMs: 0, limit: 10 })
      await admin.pause({ eventType: 'Placed' })
      const { entries } = await admin.audit.list()
      deepEqual(
        entries.map(({ action }) => action),
        ['pause'],
      )
      ok(Number(entries[0]!.id) > Number(stopped.id))
      await rejects(admin.resumeRun(stopped.id), { code: 'OUTBOX_INVALID_OPTION', message: /has no entry/ })
    })

    it('the audit is listed page by page, and purged', async () => {
      const { admin } = await opened()
      for (const eventType of ['a', 'b', 'c']) await admin.pause({ eventType })
      const first = await admin.audit.list({ limit: 2 })
      const second = await admin.audit.list({ limit: 2, cursor: first.cursor! })
      deepEqual(
        [...first.entries, ...second.entries].map(({ detail }) => detail),
        ['c', 'b', 'a'].map((eventType) => JSON.stringify({ eventType })),
      )
      await rejects(admin.audit.entry('77777'), { code: 'OUTBOX_INVALID_OPTION', message: /no entry/ })
      await rejects(admin.audit.entry('x'), { code: 'OUTBOX_INVALID_OPTION' })
      await new Promise((resolve) => setTimeout(resolve, 5))
      equal(await admin.audit.purge({ olderThanMs: 1 }), 3)
      deepEqual(
        (await admin.audit.list()).entries.map(({ action }) => action),
        ['purgeAudit'],
      )
    })

    it('looks and acts without a migration, a lock, a claim or a part in the work', async () => {
      const store = await open()
      await kill(store, 3, 'Error: no')
      const calls: string[] = []
      const told = <Target extends object>(target: Target, of: string, ...names: string[]): Target =>
        new Proxy(target, {
          get: (from, name) => {
            if (names.includes(name as string)) calls.push(`${of}.${String(name)}`)
            return Reflect.get(from, name) as unknown
          },
        })
      let observed = told(store, 'store', 'migrate', 'claim', 'claimTypes', 'pollPending', 'lanes')
      observed = instead(observed, 'nodes', told(store.nodes, 'nodes', 'join'))
      observed = instead(observed, 'locks', told(store.locks, 'locks', 'acquire'))
      if (store.partitions !== undefined) {
        observed = instead(observed, 'partitions', told(store.partitions, 'partitions', 'acquire', 'shares'))
      }
      const admin = outboxAdmin({ store: observed }).as('ann')
      const { events } = await admin.browse()
      await admin.event(events[0]!.eventId)
      await admin.failures()
      await admin.destinations()
      if (store.orderingKeys !== undefined) await admin.keys.blocked()
      if (store.partitions !== undefined) await admin.partitions()
      await admin.run(await admin.plan('replay', {}, { all: true }))
      await admin.pause({ eventType: 'Placed' })
      const { processes } = await admin.overview()

      deepEqual(processes, [])
      deepEqual(calls, [])
    })

    async function opened(): Promise<{ store: AdminTestStore<Tx>; admin: OutboxAdmin<Tx> }> {
      const store = await open()
      return { store, admin: outboxAdmin({ store, events: [Placed] }).as('ann') }
    }
  })
}

type ActionName = keyof ReturnType<typeof actionsOn>

/**
 * What can happen to an event between a plan and its run. `states` are events that a plan means, each by what
 * happened to it before. `changes` pairs what happened before the plan with what happens after it.
 */
const changedSince: readonly {
  readonly name: RowAction
  readonly states: readonly string[]
  readonly changes: readonly (readonly [before: string, since: string])[]
}[] = [
  {
    name: 'replay',
    states: ['dead', 'retry dead', 'cancel'],
    changes: [
      ['dead', 'replay'],
      ['dead', 'replay claim'],
      ['dead', 'replay retry'],
      ['dead', 'replay done'],
      ['dead', 'replay dead'],
      ['dead', 'replay cancel'],
      ['dead', 'replay dead replay dead'],
      ['dead', 'purge'],
      ['fresh', 'dead'],
      ['fresh', 'cancel'],
      ['retry', 'dead'],
      ['claim', 'release dead'],
    ],
  },
  {
    name: 'cancel',
    states: ['fresh', 'retry', 'defer'],
    changes: [
      ['fresh', 'claim'],
      ['fresh', 'done'],
      ['fresh', 'dead'],
      ['fresh', 'cancel'],
      ['fresh', 'cancel replay'],
      ['retry', 'dead replay'],
      ['fresh', 'cancel replay retry'],
      ['fresh', 'cancel replay defer'],
      ['fresh', 'block'],
      ['dead', 'replay'],
      ['dead', 'replay retry'],
      ['dead', 'replay claim release'],
      ['done', 'purge'],
    ],
  },
  {
    name: 'skip',
    states: ['block', 'retry block'],
    changes: [
      ['block', 'skip'],
      ['block', 'skip replay'],
      ['block', 'skip replay block'],
      ['block', 'cancel replay done'],
      ['fresh', 'block'],
      ['retry', 'block'],
    ],
  },
  {
    name: 'purge',
    states: ['done', 'dead', 'cancel'],
    changes: [
      ['dead', 'replay'],
      ['dead', 'replay claim'],
      ['dead', 'replay done'],
      ['dead', 'replay dead'],
      ['dead', 'replay cancel'],
      ['done', 'purge'],
      ['fresh', 'done'],
      ['fresh', 'dead'],
      ['retry', 'cancel'],
    ],
  },
]

/** What a worker or an operator does to an event. */
function actionsOn<Tx>(store: AdminTestStore<Tx>) {
  const failure = { error: 'Error: no', counted: true }
  let owners = 0
  const claimed = async (row: NewRow) => {
    const lease = leaseOf(`worker-${++owners}`)
    const [held] = await store.claim({ lease, limit: 1, rows: [row] })
    return held ?? Promise.reject(new Error('The event cannot be claimed.'))
  }
  const settle = (outcome: Outcome) => async (row: NewRow) => {
    const held = leased.get(row.eventId) ?? (await claimed(row))
    leased.delete(row.eventId)
    deepEqual(await store.settle({ settlements: [{ row: held, outcome }] }), [])
  }
  const leased = new Map<string, Row>()
  const act = (action: RowAction) => async (row: NewRow) => {
    const audit = { actor: 'bob', action }
    const answer = await store.actions.run({ action, rows: [row], reason: 'Error: by bob', audit })
    equal(answer.kind === 'ran' && answer.rows.length, 1)
  }
  return {
    fresh: async () => {},
    claim: async (row: NewRow) => void leased.set(row.eventId, await claimed(row)),
    release: async (row: NewRow) => {
      const held = leased.get(row.eventId)!
      leased.delete(row.eventId)
      await store.release([held])
    },
    // Due again at once, so that it can be claimed again.
    retry: settle({ kind: 'retry', delayMs: 0, failure }),
    defer: settle({ kind: 'defer', delayMs: 0, reason: 'Later: no' }),
    block: settle({ kind: 'block', failure }),
    dead: settle({ kind: 'dead', failure }),
    done: settle({ kind: 'done' }),
    replay: act('replay'),
    cancel: act('cancel'),
    skip: act('skip'),
    purge: act('purge'),
  }
}

let written = 0

/** Writes rows whose ids rise, and returns them in write order. */
export async function write<Tx>(
  store: AdminTestStore<Tx>,
  count: number,
  fields: Partial<NewRow> = {},
): Promise<readonly NewRow[]> {
  const rows = Array.from({ length: count }, () =>
    sampleRow({ eventId: `01M5${String(++written).padStart(22, '0')}`, ...fields }),
  )
  await store.transaction((tx) => store.insert({ tx, rows }))
  return rows
}

/** Writes rows, or takes these, and makes them DEAD. */
export async function kill<Tx>(
  store: AdminTestStore<Tx>,
  count: number,
  error: string,
  rows?: readonly NewRow[],
  fields: Partial<NewRow> = {},
): Promise<readonly NewRow[]> {
  const killed = rows ?? (await write(store, count, fields))
  const held = await store.claim({ lease: leaseOf('killer'), limit: killed.length, rows: killed })
  const failure = { error, counted: true }
  await store.settle({ settlements: held.map((row) => ({ row, outcome: { kind: 'dead', failure } })) })
  return killed
}

async function statuses<Tx>(store: AdminTestStore<Tx>): Promise<number[]> {
  return (await store.people.query({ limit: 100 })).map(({ status }) => status)
}
