import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { outboxAdmin } from '../../src/admin/index.ts'
import type { OutboxStore } from '../../src/store/index.ts'
import { leaseOf } from '../../src/testing/store-checks/check-steps.ts'
import { type AdminTestStore, kill, write } from './admin-behaviour.ts'

/**
 * Tests that an admin whose store may only read, made by `openReader`, can do all that only looks, and that
 * each action fails with `OUTBOX_READ_ONLY` and changes nothing.
 */
export async function testOnlyLooking<Tx>(
  store: AdminTestStore<Tx>,
  openReader: () => Promise<OutboxStore<any>>,
): Promise<void> {
  const hasKeys = store.orderingKeys !== undefined
  await kill(store, 2, 'Error: no')
  const rows = await write(store, 1, hasKeys ? { orderingKey: 'k', partitionNo: 130 } : {})
  const [row] = await store.claim({ lease: leaseOf('worker'), limit: 1, rows })
  const blocked = { kind: 'block', failure: { error: 'Error: no', counted: true } } as const
  await store.settle({ settlements: [{ row: row!, outcome: blocked }] })
  const owner = outboxAdmin({ store }).as('ann')
  await owner.pause({ eventType: 'Paused' })
  const stop = new AbortController()
  const stopped = await owner.run(await owner.plan('replay', {}, { all: true }), {
    batchSize: 1,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  })
  const reader = outboxAdmin({ store: await openReader() })
  const before = [await owner.browse(), await owner.audit.list(), await owner.paused()]

  equal((await reader.overview()).counts.DEAD.count, 1)
  const { events } = await reader.browse({ status: 'DEAD' })
  equal((await reader.event(events[0]!.eventId))!.attempts.length, 1)
  equal((await reader.failures()).groups.length, 1)
  equal((await reader.deliveries()).length, 60)
  equal((await reader.destinations()).destinations.length, 1)
  deepEqual(await reader.paused(), [{ eventType: 'Paused' }])
  ok((await reader.doctor()).some(({ code }) => code === 'NO_WORKER'))
  equal((await reader.audit.list()).entries.length, 2)
  equal((await reader.audit.entry(stopped.id)).state, 'stopped')
  const plan = await reader.plan('replay', {}, { all: true })
  equal(plan.count, 1)
  if (hasKeys) equal((await reader.keys.blocked()).length, 1)
  if (store.partitions !== undefined) equal((await reader.partitions()).participants.length, 0)

  const actor = reader.as('bob')
  const actions = {
    run: () => actor.run(plan),
    resumeRun: () => actor.resumeRun(stopped.id),
    replayEdited: () => actor.replayEdited(events[0]!.eventId, {}),
    pause: () => actor.pause({ eventType: 'A' }),
    resume: () => actor.resume({ eventType: 'Paused' }),
    purge: () => actor.audit.purge({ olderThanMs: 0 }),
    ...(hasKeys && {
      park: () => actor.keys.park('k'),
      unpark: () => actor.keys.unpark('k'),
      retry: () => actor.keys.retry('k'),
      skip: () => actor.keys.skip('k'),
    }),
  }
  for (const [name, act] of Object.entries<() => Promise<unknown>>(actions)) {
    const refused = { code: 'OUTBOX_READ_ONLY', message: /may only read/ }
    await rejects(act(), refused, name)
  }
  deepEqual([await owner.browse(), await owner.audit.list(), await owner.paused()], before)
}
