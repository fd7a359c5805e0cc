import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RetryAfterError } from '../../src/errors.ts'
import { maxDelayMs } from '../../src/store/rows.ts'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { OutboxBackend } from '../../src/outbox/outbox-backend.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { onEveryStoreOnce, rowOf, startOutbox, until, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const tooLong = [maxDelayMs + 1, Number.MAX_SAFE_INTEGER, 1e300]

describe('a delay of more than a hundred years', () => {
  it('is refused by retryAfter, as one that is no delay is', () => {
    for (const delayMs of [...tooLong, -1, NaN, Infinity]) {
      throws(() => DispatchResult.retryAfter(delayMs), { code: 'OUTBOX_INVALID_OPTION' })
    }
    deepEqual(DispatchResult.retryAfter(maxDelayMs), { kind: 'retryAfter', delayMs: maxDelayMs })
  })

  it('is refused by the marks of an OutboxBackend', async () => {
    const store = memoryStore()
    const backend = new OutboxBackend(store, { owner: 'me', ms: 60_000 })
    await store.transaction((tx) => backend.insertNew(tx, EventEnvelope.ofJson('Tested', '1')))
    const [row] = await backend.claimPending(1)
    for (const delayMs of [...tooLong, -1]) {
      await rejects(backend.markRetry(row!, delayMs, 'no'), { code: 'OUTBOX_INVALID_OPTION' })
      await rejects(backend.markDeferred(row!, delayMs), { code: 'OUTBOX_INVALID_OPTION' })
      await rejects(backend.recordFailure(row!, 'no', delayMs, false), { code: 'OUTBOX_INVALID_OPTION' })
    }
    await backend.markRetry(row!, maxDelayMs, 'no')
  })

  it('is refused as unroutableDelayMs', () => {
    const options = { store: memoryStore(), listeners: new ListenerRegistry() }
    throws(() => Outbox.multiNode({ ...options, unroutableDelayMs: 1e300 }), {
      code: 'OUTBOX_INVALID_OPTION',
    })
  })

  onEveryStoreOnce('is a hundred years where it comes from a listener or a policy', async (test, open) => {
    const listener = new RecordingListener(({ payload }) => {
      if (payload === 'by hand') return { kind: 'retryAfter', delayMs: 1e300 }
      if (payload === 'an error') throw new RetryAfterError(Number.MAX_SAFE_INTEGER)
      throw new Error('no')
    })
    const { outbox, store, metrics } = await startOutbox(test, open(), {
      listener,
      retryPolicy: { computeDelayMs: () => 1e300 },
    })
    const ids = await writeTested(outbox, 'by hand', 'an error', 'a policy')
    await metrics.until((seen) => seen.dispatchDeferred + seen.dispatchFailure === 3)
    for (const id of ids) {
      const { availableAt, createdAt } = (await rowOf(store, id))!
      equal(Math.round((availableAt - createdAt) / maxDelayMs), 1)
    }
  })

  onEveryStoreOnce('does not keep other keys from being delivered, partitioned', async (test, open) => {
    const seen: unknown[] = []
    const listeners = new ListenerRegistry().register('Tested', ({ payload }) => {
      seen.push(payload)
      return payload === 'never' ? { kind: 'retryAfter', delayMs: Number.MAX_SAFE_INTEGER } : undefined
    })
    const outbox = await Outbox.partitioned<any>({ store: open(), listeners, logger: false }).start()
    test.after(() => outbox.close())
    await outbox.transaction(() => outbox.write('Tested', 'never', { orderingKey: 'a' }))
    await until(() => seen.length === 1)
    await outbox.drain()
    await outbox.transaction(() => outbox.write('Tested', 'behind it', { orderingKey: 'a' }))
    await outbox.transaction(() => outbox.write('Tested', 'other', { orderingKey: 'b' }))
    await until(() => seen.includes('other'))
    await outbox.poll()
    deepEqual(seen, ['never', 'other'])
  })
})
