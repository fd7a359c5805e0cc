import { deepEqual, equal, ok } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import type { ActionAnswer, CompleteStore, RowAction, RowId } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  claimOne,
  doneOf,
  findRow,
  insertAndClaim,
  insertAndSettle,
  insertOne,
  insertRows,
  leaseOf,
  letRunOut,
  only,
  poll,
  pollOwner,
  readRow,
  settleOne,
  Undo,
} from './check-steps.ts'
import { sampleRow } from './sample-rows.ts'

const failure = { error: 'Error: no', counted: true }
const entry = { actor: 'Ann', action: 'test', detail: '{"why":"a check"}' }

export const actionChecks: readonly PartCheck[] = [
  {
    name: 'actions: cancel makes a pending row DEAD with the reason, and raises its fence',
    needs: ['people', 'actions'],
    async run({ store }) {
      const row = await insertAndSettle(store, { kind: 'retry', delayMs: 20_000, failure })
      deepEqual(await act(store, 'cancel', [row]), ran([row]))
      const cancelled = await readRow(store, row)

      deepEqual(
        [cancelled.status, cancelled.lastError, cancelled.deliveries, cancelled.attempts],
        [EventStatus.DEAD, 'Because.', row.deliveries + 1, row.attempts],
      )
      ok(cancelled.doneAt !== null && cancelled.blockedAt === null)
      equal((await store.people.attempts(row)).at(-1)!.error, 'Because.')
      deepEqual(await act(store, 'cancel', [row]), ran([]))
    },
  },
  {
    name: 'actions: cancel leaves a leased row, and names its holder, until the lease has run out',
    needs: ['people', 'actions'],
    async run({ store, wait }) {
      const held = await insertOne(store, { claimed: true }, leaseOf('a'))
      deepEqual(await act(store, 'cancel', [held]), ran([], [{ ...idOf(held), holder: 'a' }]))
      deepEqual(await readRow(store, held), held)

      const row = await insertOne(store, { claimed: true }, leaseOf('b', 20))
      await wait(30)
      deepEqual(await act(store, 'cancel', [row]), ran([row]))
      deepEqual(await store.settle({ settlements: [doneOf(row)] }), [doneOf(row)])
    },
  },
  {
    name: 'actions: cancel leaves a row within the bounds of a living lock, and names its owner',
    needs: ['people', 'actions'],
    async run({ store, wait }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const row = await insertOne(store)
      await poll(store)
      const later = await insertOne(store, { due: { inMs: 20_000 } })
      deepEqual(
        await act(store, 'cancel', [row, later]),
        ran([later], [{ ...idOf(row), holder: pollOwner.token }]),
      )
      await letRunOut(store, pollOwner, wait)
      deepEqual(await act(store, 'cancel', [row]), ran([row]))
    },
  },
  {
    name: 'actions: cancel leaves a row that the owner of a lock recorded as held',
    needs: ['people', 'lanes', 'actions'],
    async run({ store }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const row = await insertOne(store)
      const free = await insertOne(store)
      await store.lanes.hold({ owner: pollOwner, rows: [row] })

      deepEqual(
        await act(store, 'cancel', [row, free]),
        ran([free], [{ ...idOf(row), holder: pollOwner.token }]),
      )
    },
  },
  {
    name: 'actions: skip makes a blocked row DEAD, and leaves other pending rows alone',
    needs: ['people', 'actions'],
    async run({ store }) {
      const blocked = await insertAndSettle(store, { kind: 'block', failure })
      const fresh = await insertOne(store)
      deepEqual(await act(store, 'skip', [blocked, fresh]), ran([blocked]))
      const skipped = await readRow(store, blocked)

      deepEqual([skipped.status, skipped.blockedAt, skipped.lastError], [EventStatus.DEAD, null, 'Because.'])
      deepEqual(await readRow(store, fresh), fresh)
    },
  },
  {
    name: 'actions: purge deletes settled rows with their history, and never a pending one',
    needs: ['people', 'actions'],
    async run({ store }) {
      const dead = await insertAndSettle(store, { kind: 'dead', failure })
      const done = await insertAndSettle(store, { kind: 'done' })
      const fresh = await insertOne(store)
      deepEqual(await act(store, 'purge', [dead, done, fresh]), ran([dead, done]))

      deepEqual([await findRow(store, dead), await findRow(store, done)], [undefined, undefined])
      deepEqual(await store.people.attempts(dead), [])
      deepEqual(await readRow(store, fresh), fresh)
    },
  },
  {
    name: 'actions: a row whose fence has changed is left alone',
    needs: ['people', 'actions'],
    async run({ store }) {
      const dead = await insertAndSettle(store, { kind: 'dead', failure })
      const rows = [{ ...idOf(dead), deliveries: dead.deliveries - 1 }]
      const audit = entry
      deepEqual(await store.actions.run({ action: 'replay', rows, audit }), ran([]))
      deepEqual(await store.actions.run({ action: 'replay', rows: [dead], audit }), ran([dead]))
      equal((await readRow(store, dead)).status, EventStatus.NEW)
    },
  },
  {
    name: 'actions: two operators who act on the same rows at once change each row once',
    needs: ['people', 'actions'],
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      await insertRows(
        store,
        Array.from({ length: 20 }, () => sampleRow()),
      )
      const rows = await store.people.query({ limit: 100 })
      const answers = await Promise.all([act(store, 'cancel', rows), act(other, 'cancel', rows)])
      const counts = answers.map((answer) => (answer.kind === 'ran' ? answer.rows.length : 0))

      equal(counts[0]! + counts[1]!, 20)
      const affected = (await store.actions.audit({ limit: 10 })).reduce(
        (sum, each) => sum + each.affected,
        0,
      )
      equal(affected, 20)
    },
  },
  {
    name: 'audit: an action adds an entry with actor, action, detail and count, about the rows it changed',
    needs: ['people', 'actions'],
    async run({ store }) {
      const row = await insertOne(store)
      const held = await insertOne(store, { claimed: true })
      await act(store, 'cancel', [row, held])
      const found = only(await store.actions.audit({ limit: 10 }))

      deepEqual(
        { ...found, id: '', at: 0 },
        {
          id: '',
          at: 0,
          ...entry,
          plan: null,
          state: null,
          affected: 1,
          progress: null,
          updatedAt: null,
        },
      )
      ok(Math.abs(found.at - (await readRow(store, row)).doneAt!) < 1_000)
      deepEqual(await store.actions.auditOf({ row, limit: 10 }), [found])
      deepEqual(await store.actions.auditOf({ row: held, limit: 10 }), [])
    },
  },
  {
    name: 'audit: an action that changes no row adds no entry',
    needs: ['people', 'actions'],
    async run({ store }) {
      await act(store, 'replay', [await insertOne(store)])
      deepEqual(await store.actions.audit({ limit: 10 }), [])
    },
  },
  {
    name: 'audit: entries come newest first, up to a limit, and before a given one',
    needs: ['actions'],
    async run({ store }) {
      const ids: string[] = []
      for (const action of ['a', 'b', 'c']) {
        ids.push(await store.actions.record({ entry: { actor: null, action }, rows: [] }))
      }
      const actions = async (filter: { limit: number; before?: string; id?: string }) =>
        (await store.actions.audit(filter)).map(({ action }) => action)

      deepEqual(await actions({ limit: 2 }), ['c', 'b'])
      deepEqual(await actions({ limit: 2, before: ids[1]! }), ['a'])
      deepEqual(await actions({ limit: 2, id: ids[1]! }), ['b'])
      deepEqual(await actions({ limit: 2, id: '999999' }), [])
    },
  },
  {
    name: 'audit: a step of a plan changes rows and progress together, and counts on',
    needs: ['people', 'actions'],
    async run({ store }) {
      const id = await startPlan(store)
      for (const [expects, progress] of [
        ['0', '1'],
        ['1', '2'],
      ] as const) {
        const row = await insertAndSettle(store, { kind: 'dead', failure })
        const audit = { id, expects, progress, state: 'running' }
        deepEqual(await store.actions.run({ action: 'replay', rows: [row], audit }), ran([row]))
        equal(only(await store.actions.auditOf({ row, limit: 10 })).id, id)
      }
      const end = { id, expects: '2', progress: '3', state: 'done' }
      deepEqual(await store.actions.run({ action: 'replay', rows: [], audit: end }), ran([]))
      const found = only(await store.actions.audit({ id, limit: 1 }))

      deepEqual([found.affected, found.progress, found.state, found.plan], [2, '3', 'done', '{}'])
      ok(found.updatedAt !== null && found.updatedAt >= found.at)
    },
  },
  {
    name: 'audit: a step that expects other progress changes nothing: another process runs the plan',
    needs: ['people', 'actions'],
    async run({ store }) {
      const id = await startPlan(store)
      const dead = await insertAndSettle(store, { kind: 'dead', failure })
      const run = (expects: string, stepOf = id) =>
        store.actions.run({
          action: 'replay',
          rows: [dead],
          audit: { id: stepOf, expects, progress: '1', state: 'running' },
        })

      deepEqual(await run('7'), { kind: 'overtaken' })
      deepEqual(await run('0', '999999'), { kind: 'overtaken' })
      deepEqual(await readRow(store, dead), dead)
      deepEqual(await run('0'), ran([dead]))
    },
  },
  {
    name: 'audit: of two processes that take the same step at once, one is overtaken',
    needs: ['people', 'actions'],
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      const id = await startPlan(store)
      const rows = [
        await insertAndSettle(store, { kind: 'dead', failure }),
        await insertAndSettle(store, { kind: 'dead', failure }),
      ]
      const answers = await Promise.all(
        [store, other].map((each, index) =>
          each.actions.run({
            action: 'replay',
            rows: [rows[index]!],
            audit: { id, expects: '0', progress: `by ${index}`, state: 'running' },
          }),
        ),
      )

      deepEqual(answers.map(({ kind }) => kind).sort(), ['overtaken', 'ran'])
      equal(only(await store.actions.audit({ id, limit: 1 })).affected, 1)
    },
  },
  {
    name: 'audit: a purge deletes old entries, oldest first, and keeps plans that run',
    needs: ['actions'],
    async run({ store, wait }) {
      const plan = await startPlan(store)
      for (const action of ['a', 'b'])
        await store.actions.record({ entry: { actor: null, action }, rows: [] })
      await wait(1_000)
      await store.actions.record({ entry: { actor: null, action: 'c' }, rows: [] })
      const left = async () =>
        (await store.actions.audit({ limit: 10 })).map(({ id, action }) => [id, action])

      equal(await store.actions.purgeAudit({ olderThanMs: 990, limit: 1 }), 1)
      deepEqual(
        (await left()).map(([, action]) => action),
        ['c', 'b', 'test'],
      )
      equal(await store.actions.purgeAudit({ olderThanMs: 990, limit: 10 }), 1)
      deepEqual(
        (await left()).map(([, action]) => action),
        ['c', 'test'],
      )
      equal((await left())[1]![0], plan)
    },
  },
  {
    name: 'audit: pauses and decisions about keys add entries in the same step, if they change something',
    needs: ['people', 'actions', 'orderingKeys', 'controls'],
    async run({ store }) {
      const named = (action: string) => ({ actor: 'Ann', action })
      await store.controls.pause({ eventType: 'Paid' }, named('pause'))
      await store.controls.resume({ eventType: 'Paid' }, named('resume'))
      await store.orderingKeys.park({ orderingKey: 'x' }, named('park'))
      await store.orderingKeys.unpark({ orderingKey: 'x' }, named('unpark'))
      equal(await store.orderingKeys.retry({ orderingKey: 'x' }, named('retryKey')), false)
      equal(await store.orderingKeys.skip({ orderingKey: 'x', reason: 'no' }, named('skipKey')), false)
      const head = await insertAndSettle(
        store,
        { kind: 'block', failure },
        { orderingKey: 'x', partitionNo: 45 },
      )
      equal(await store.orderingKeys.retry({ orderingKey: 'x' }, named('retryKey')), true)
      equal(await store.orderingKeys.skip({ orderingKey: 'x', reason: 'no' }, named('skipKey')), true)
      const entries = (await store.actions.audit({ limit: 10 })).toReversed()

      deepEqual(
        entries.map(({ action, actor, affected }) => [action, actor, affected]),
        [
          ['pause', 'Ann', 0],
          ['resume', 'Ann', 0],
          ['park', 'Ann', 0],
          ['unpark', 'Ann', 0],
          ['retryKey', 'Ann', 1],
          ['skipKey', 'Ann', 1],
        ],
      )
      deepEqual(
        (await store.actions.auditOf({ row: head, limit: 10 })).map(({ action }) => action),
        ['retryKey', 'skipKey'],
      )
    },
  },
  {
    name: 'audit: an entry that is recorded in a transaction is kept if the transaction is',
    needs: ['actions'],
    async run({ store }) {
      const record = (action: string, fails: boolean) =>
        store
          .transaction(async (tx) => {
            await store.actions.record({ entry: { actor: null, action }, rows: [], tx })
            if (fails) throw new Undo()
          })
          .catch((error: unknown) => {
            if (!(error instanceof Undo)) throw error
          })
      await record('undone', true)
      await record('kept', false)

      deepEqual(
        (await store.actions.audit({ limit: 10 })).map(({ action }) => action),
        ['kept'],
      )
    },
  },
  {
    name: 'cancel: a transaction cancels an event by id or by idempotency key, if it commits',
    needs: ['people', 'actions'],
    async run({ store }) {
      const cancelWithin = store.actions.cancelWithin?.bind(store.actions)
      if (cancelWithin === undefined) return
      const byId = await insertOne(store)
      const byKey = await insertOne(store, { idempotencyKey: 'once' })
      const cancel = (fails: boolean) =>
        store
          .transaction(async (tx) => {
            const request = { tx, reason: 'Because.', audit: entry }
            const first = await cancelWithin({ ...request, event: { eventId: byId.eventId } })
            const second = await cancelWithin({ ...request, event: { idempotencyKey: 'once' } })
            deepEqual(first, { eventId: byId.eventId, rows: [idOf(byId)], held: [] })
            deepEqual(second, { eventId: byKey.eventId, rows: [idOf(byKey)], held: [] })
            if (fails) throw new Undo()
          })
          .catch((error: unknown) => {
            if (!(error instanceof Undo)) throw error
          })
      await cancel(true)
      deepEqual([await readRow(store, byId), await readRow(store, byKey)], [byId, byKey])
      deepEqual(await store.actions.audit({ limit: 10 }), [])

      await cancel(false)
      for (const row of [byId, byKey]) {
        const { status, lastError, deliveries } = await readRow(store, row)
        deepEqual([status, lastError, deliveries], [EventStatus.DEAD, 'Because.', row.deliveries + 1])
        equal(only(await store.actions.auditOf({ row, limit: 10 })).affected, 1)
      }
    },
  },
  {
    name: 'cancel: a transaction leaves held rows, and finds no event that does not exist',
    needs: ['people', 'actions'],
    async run({ store }) {
      const cancelWithin = store.actions.cancelWithin?.bind(store.actions)
      if (cancelWithin === undefined) return
      const held = await insertAndClaim(store, 'a')
      await store.transaction(async (tx) => {
        const request = { tx, reason: 'Because.', audit: entry }
        deepEqual(await cancelWithin({ ...request, event: { eventId: held.eventId } }), {
          eventId: held.eventId,
          rows: [],
          held: [{ ...idOf(held), holder: 'a' }],
        })
        for (const event of [{ eventId: 'none' }, { idempotencyKey: 'none' }]) {
          deepEqual(await cancelWithin({ ...request, event }), { eventId: undefined, rows: [], held: [] })
        }
      })
      await settleOne(store, held, { kind: 'done' })
      deepEqual(await store.actions.audit({ limit: 10 }), [])
    },
  },
  {
    name: 'actions: a replayed row can be claimed at once, and dies again with its own history',
    needs: ['people', 'actions'],
    async run({ store }) {
      const dead = await insertAndSettle(store, { kind: 'dead', failure })
      await act(store, 'replay', [dead])
      await settleOne(store, await claimOne(store, 'b'), { kind: 'dead', failure })

      equal((await store.people.attempts(dead)).length, 2)
    },
  },
]

function act<Tx>(store: CompleteStore<Tx>, action: RowAction, rows: readonly RowId[]): Promise<ActionAnswer> {
  return store.actions.run({ action, rows: rows.map(idOf), reason: 'Because.', audit: entry })
}

function startPlan<Tx>(store: CompleteStore<Tx>): Promise<string> {
  return store.actions.record({ entry: { ...entry, plan: '{}', state: 'running', progress: '0' }, rows: [] })
}

function ran(rows: readonly RowId[], held: readonly object[] = []): object {
  return { kind: 'ran', rows: rows.map(idOf), held }
}

function idOf({ eventId, destination }: RowId): RowId {
  return { eventId, destination }
}
