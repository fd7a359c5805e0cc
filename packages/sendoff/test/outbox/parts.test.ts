import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventEnvelope, ListenerRegistry } from '../../src/index.ts'
import {
  AmbientTransactions,
  claimSource,
  LeaseKeeper,
  OutboxBackend,
  OutboxDispatcher,
  OutboxPoller,
  OutboxWriter,
} from '../../src/parts.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

describe('the parts, wired by hand', () => {
  it('write, poll and dispatch', async () => {
    const store = memoryStore()
    const transactions = new AmbientTransactions({ store })
    const writer = new OutboxWriter({ store, txContext: transactions })
    const id = await transactions.transaction(() => writer.write('Tested', { n: 1 }))

    const listener = new RecordingListener()
    const lease = { owner: 'me', ms: 30_000 }
    const dispatcher = new OutboxDispatcher({
      store,
      listeners: new ListenerRegistry().register('Tested', listener),
    })
    const keeper = new LeaseKeeper({ store, lease, inFlight: dispatcher.inFlight })
    const poller = new OutboxPoller({
      source: claimSource({ store, lease }),
      inFlight: dispatcher.inFlight,
      handler: {
        handle: (delivery) => dispatcher.enqueueCold(delivery),
        availableCapacity: () => dispatcher.coldQueueRemainingCapacity(),
      },
    })
    await poller.poll()
    await keeper.renewAll()
    await dispatcher.idle()
    await dispatcher.close()
    deepEqual(listener.ids, [id])
    equal(await store.people.count({ status: [1] }), 1)
  })

  it('a handler without room ends the poll', async () => {
    const store = memoryStore()
    await store.transaction((tx) =>
      store.insert({
        tx,
        rows: [1, 2, 3].map((n) => EventEnvelope.ofJson('T', `${n}`).toRow(false)),
        lease: { owner: '', ms: 0 },
      }),
    )
    const taken: unknown[] = []
    const poller = new OutboxPoller({
      source: claimSource({ store, lease: { owner: 'me', ms: 1_000 } }),
      handler: { handle: ({ row }) => taken.push(row.payload) < 2, availableCapacity: () => 2 },
    })
    await poller.poll()
    deepEqual(taken, ['1', '2'])
    await poller.close()
  })
})

describe('the backend', () => {
  it('has the method names of other outbox systems, and fences each mark', async () => {
    const store = memoryStore()
    const backend = new OutboxBackend(store, { owner: 'relay', ms: 30_000 })
    await store.transaction(async (tx) => {
      for (const type of [
        'done',
        'sent',
        'dispatched',
        'retry',
        'attempt',
        'failure',
        'exhausted',
        'deferred',
        'dead',
      ]) {
        await backend.insertNew(tx, EventEnvelope.ofJson(type, '1'))
      }
    })
    const rows = await backend.claimPending(10)
    const [done, sent, dispatched, retry, attempt, failure, exhausted, deferred, dead] = rows as [
      any,
      any,
      any,
      any,
      any,
      any,
      any,
      any,
      any,
    ]
    await backend.markDone(done)
    await backend.markSent(sent)
    await backend.markDispatched(dispatched)
    await backend.markRetry(retry, 60_000, new Error('a'))
    await backend.markFailureAttempt(attempt, new Error('b'))
    await backend.recordFailure(failure, new Error('c'), 60_000, false)
    await backend.recordFailure(exhausted, new Error('d'), 0, true)
    await backend.markDeferred(deferred, 60_000)
    await backend.markDead(dead, new Error('e'))
    await rejects(backend.markDone(done), { code: 'OUTBOX_LEASE_LOST' })

    deepEqual(
      (await store.people.query({ limit: 10 })).map((row) => [
        row.eventType,
        row.status,
        row.attempts,
        row.lastError,
      ]),
      [
        ['done', 1, 0, null],
        ['sent', 1, 0, null],
        ['dispatched', 1, 0, null],
        ['retry', 2, 1, 'Error: a'],
        ['attempt', 2, 1, 'Error: b'],
        ['failure', 2, 1, 'Error: c'],
        ['exhausted', 3, 1, 'Error: d'],
        ['deferred', 0, 0, null],
        ['dead', 3, 0, 'Error: e'],
      ],
    )
    deepEqual(
      (await backend.findPendingBatch(10)).map((row) => row.eventType),
      ['attempt'],
    )
    equal(await backend.countDead(), 2)
    equal(await backend.countDead({ eventType: 'dead' }), 1)
    equal(await backend.replayDead(dead.eventId), true)
    deepEqual(
      (await backend.queryDead()).map((row) => row.eventType),
      ['exhausted'],
    )
  })
})
