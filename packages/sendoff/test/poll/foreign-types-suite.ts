import { deepEqual } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { startOutbox } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'
import type { StoreKind } from '../fixtures/stores.ts'

/** Workers with different listeners on one table, where events that a worker cannot deliver are left to others. */
export function testForeignTypes(kind: StoreKind): void {
  const { name } = kind
  describe(`workers that defer what they cannot deliver, on ${name}`, () => {
    it('each deliver the events that they have a listener for, and none waits', async (test) => {
      const openStore = await kind.open(test)
      const first = await startWorker(test, openStore(), ['A'])
      const second = await startWorker(test, openStore(), ['B'])
      await write(first, 50, ['A', 'B'])

      await first.metrics.until((seen) => seen.dispatchSuccess === 50)
      await second.metrics.until((seen) => seen.dispatchSuccess === 50)
      deepEqual(
        [first, second].map(({ metrics }) => metrics.dispatchDeferred),
        [0, 0],
      )
    })

    it('leave events of a new type to the worker that was deployed with a listener for it', async (test) => {
      const openStore = await kind.open(test)
      const old = await startWorker(test, openStore(), ['A'])
      const deployed = await startWorker(test, openStore(), ['A', 'B'])
      await write(old, 50, ['B'])

      await deployed.metrics.until((seen) => seen.dispatchSuccess === 50)
      deepEqual(old.listener.ids, [])
    })
  })
}

type Worker = Awaited<ReturnType<typeof startWorker>>

async function startWorker(test: TestContext, store: StoreWith<any, 'people'>, types: readonly string[]) {
  const listener = new RecordingListener()
  const listeners = new ListenerRegistry()
  for (const type of types) listeners.register(type, listener)
  const fixture = await startOutbox(test, store, {
    listeners,
    onUnroutable: 'defer',
    // Where the store has no wake-ups, workers find each other's events by polling.
    ...(store.wakeUps === undefined && { poller: { intervalMs: 200, busyIntervalMs: 20 } }),
  })
  return { ...fixture, listener }
}

async function write({ outbox }: Worker, count: number, types: readonly string[]): Promise<void> {
  const events = Array.from({ length: count }, (_, payload) =>
    types.map((name) => ({ type: { name }, payload })),
  )
  await outbox.transaction(() => outbox.writeAll(events.flat()))
}
