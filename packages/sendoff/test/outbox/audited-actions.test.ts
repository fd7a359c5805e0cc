import { deepEqual, equal } from 'node:assert/strict'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { AuditEntry, StoreWith } from '../../src/store/index.ts'
import { leaseOf } from '../../src/testing/store-checks/check-steps.ts'
import { onEveryStoreOnce } from '../fixtures/outbox-fixture.ts'

onEveryStoreOnce('what an outbox does for an operator stands in the audit', async (test, open) => {
  const store = open() as StoreWith<any, 'people' | 'actions'>
  const outbox = await Outbox.writerOnly<any>({ store, logger: false, ownerId: 'shop' }).start()
  test.after(() => outbox.close())
  const ids = await outbox.transaction(async () => [
    await outbox.write('Placed', 1),
    await outbox.write('Placed', 2),
    await outbox.write('Placed', 3, { orderingKey: 'k' }),
    await outbox.write('Placed', 4, { orderingKey: 'k' }),
  ])
  const held = await store.claim({ lease: leaseOf('worker'), limit: 4 })
  const failure = { error: 'Error: no', counted: true }
  await store.settle({
    settlements: held.map((row) =>
      row.orderingKey === null
        ? { row, outcome: { kind: 'dead', failure } }
        : { row, outcome: { kind: 'block', failure } },
    ),
  })

  await outbox.pause({ eventType: 'Placed' })
  await outbox.resume({ eventType: 'Placed' })
  equal(await outbox.deadEvents.replay(ids[0]!), true)
  equal(await outbox.deadEvents.replay('none'), false)
  equal(await outbox.deadEvents.replayAll({ eventType: 'Placed' }), 1)
  equal(await outbox.deadEvents.replayAll({ eventType: 'Placed' }), 0)
  equal(await outbox.blockedKeys.retry('k'), true)
  equal(await outbox.blockedKeys.retry('none'), false)
  equal(await outbox.blockedKeys.skip('k', 'No use.'), true)
  await outbox.blockedKeys.park('k')
  await outbox.blockedKeys.unpark('k')

  const entries = (await store.actions.audit({ limit: 100 })).toReversed()
  deepEqual(
    entries.map(({ action, detail, affected }) => [action, JSON.parse(detail!), affected]),
    [
      ['pause', { eventType: 'Placed' }, 0],
      ['resume', { eventType: 'Placed' }, 0],
      ['replay', { eventId: ids[0] }, 1],
      ['replay', { eventType: 'Placed' }, 1],
      ['retryKey', { orderingKey: 'k' }, 1],
      ['skipKey', { orderingKey: 'k', reason: 'No use.' }, 1],
      ['park', { orderingKey: 'k' }, 0],
      ['unpark', { orderingKey: 'k' }, 0],
    ],
  )
  deepEqual([...new Set(entries.map(ownerOf))], ['shop'])
  for (const [index, actions] of [['replay'], ['replay'], ['retryKey', 'skipKey'], []].entries()) {
    const row = { eventId: ids[index]!, destination: '' }
    const about = await store.actions.auditOf({ row, limit: 10 })
    deepEqual(
      about.map(({ action }) => action),
      actions,
    )
  }
})

// The id of a process is its `ownerId`, and an ending of its own.
function ownerOf({ actor }: AuditEntry): string | undefined {
  return actor?.split('-')[0]
}
