import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import type { StoreWith } from '../../src/store/index.ts'
import type { Transactions } from '../../src/transactions.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

class ConnectionLost extends Error {}

/** Transactions that resolve whatever the database did, as some drivers' do. */
function careless(
  store: StoreWith<any, 'people'>,
  swallow: (error: unknown) => boolean,
): Transactions<any, any> {
  return {
    confirmsCommit: false,
    storeTx: (tx) => tx,
    transaction: (work, within) =>
      store.transaction(work, { within }).catch((error: unknown) => {
        if (!swallow(error)) throw error
        return undefined as never
      }),
  }
}

onEveryStore(
  'an event is delivered at once although the answer to its commit was lost',
  async (test, open, mode) => {
    const store = faultyStore(open(), {
      async transaction(real, work: any) {
        await real(work)
        throw new ConnectionLost('the connection broke')
      },
    })
    const { outbox, metrics, listener } = await startOutbox(test, store, { mode })
    await rejects(writeTested(outbox, 'committed'), ConnectionLost)
    await metrics.until((seen) => seen.dispatchSuccess === 1)

    deepEqual(listener.payloads, ['committed'])
    equal(metrics.hotEnqueued, 1)
  },
)

onEveryStore(
  'an event is delivered although its commit was still under way when its connection broke',
  async (test, open, mode) => {
    const late = Promise.withResolvers<void>()
    let hasLooked = false
    const store = faultyStore(open(), {
      async transaction(real, work: any) {
        const isDone = Promise.withResolvers<void>()
        void real(async (tx: unknown) => {
          await work(tx)
          isDone.resolve()
          await late.promise
        })
        await isDone.promise
        throw new ConnectionLost('the connection broke')
      },
      async claim(real, request) {
        if (hasLooked || request.rows === undefined) return real(request)
        hasLooked = true
        late.resolve()
        return []
      },
    })
    const { outbox, metrics, listener } = await startOutbox(test, store, { mode })
    await rejects(writeTested(outbox, 'late'), ConnectionLost)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(listener.payloads, ['late'])
  },
)

onEveryStore(
  'an event whose commit failed is not delivered, and its place becomes free',
  async (test, open, mode) => {
    let isBroken = true
    const store = faultyStore(open(), {
      transaction: (real, work: any, within) =>
        real(async (tx: unknown) => {
          const result = await work(tx)
          if (isBroken && within === undefined) throw new ConnectionLost('refused')
          return result
        }, within),
    })
    const { outbox, metrics, listener } = await startOutbox(test, store, {
      mode,
      hotQueueCapacity: 1,
      // The lease is long enough that the look-ups after a failed commit end before it does.
      leaseMs: 60_000,
    })
    await rejects(writeTested(outbox, 'refused'), ConnectionLost)
    isBroken = false
    // While the place is reserved, events take the cold path.
    await writeTested(outbox, 'kept')
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(listener.payloads, ['kept'])
  },
)

onEveryStore(
  'without a confirmed commit, only events that the database has are delivered',
  async (test, open, mode) => {
    const store = open()
    const transactions = careless(store, (error) => error instanceof ConnectionLost)
    const { outbox, metrics, listener } = await startOutbox(test, store, { mode, transactions })
    await outbox.transaction(async () => {
      await outbox.write('Tested', 'swallowed')
      throw new ConnectionLost('nobody hears of this')
    })
    await writeTested(outbox, 'first', 'second')
    await outbox.transaction(async () => {
      await outbox.transaction(() => outbox.write('Tested', 'third'))
    })
    await metrics.until((seen) => seen.dispatchSuccess === 3)

    deepEqual(listener.payloads.toSorted(), ['first', 'second', 'third'])
    equal(metrics.hotEnqueued, 3)
    equal(await store.people.count({}), 3)
  },
)

onEveryStore('a look-up that fails is repeated', async (test, open, mode) => {
  const real = open()
  let failures = 2
  const store = faultyStore(real, {
    claim(claim, request) {
      if (request.rows !== undefined && failures-- > 0) return Promise.reject(new ConnectionLost('not now'))
      return claim(request)
    },
  })
  const { outbox, metrics, listener, log } = await startOutbox(test, store, {
    mode,
    transactions: careless(real, () => false),
  })
  await writeTested(outbox, 'found')
  await metrics.until((seen) => seen.dispatchSuccess === 1)

  deepEqual(listener.payloads, ['found'])
  match(log.join('\n'), /Looking up 1 events after their commit failed/)
})

onEveryStore('drain waits for look-ups that are under way', async (test, open, mode) => {
  const store = open()
  const { outbox, listener } = await startOutbox(test, store, {
    mode,
    transactions: careless(store, () => false),
  })
  await writeTested(outbox, 'found')
  await outbox.drain()
  deepEqual(listener.payloads, ['found'])
})
