import { equal, ok } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { StoreWith } from '../../src/store/index.ts'
import { insertRows } from '../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../src/testing/store-checks/sample-rows.ts'
import { type FixtureOptions, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'
import type { StoreKind } from '../fixtures/stores.ts'

const tested = { eventType: 'Tested', aggregateType: '__GLOBAL__' }

/** Workers of multiNode with slow listeners on one table. */
export function testSharingWork(kind: StoreKind): void {
  const { name } = kind
  describe(`workers with slow listeners, on ${name}`, { concurrency: true }, () => {
    it('share a backlog', async (test) => {
      const openStore = await kind.open(test)
      const writing = openStore()
      await writing.migrate()
      await insertRows(writing, sampleRows(200, tested))
      if (name !== 'memory') await writing.close()

      const workers = [await startWorker(test, openStore(), 50), await startWorker(test, openStore(), 50)]
      await fairly(workers, 200)
    })

    it('share what one of them has just written', async (test) => {
      const openStore = await kind.open(test)
      const workers = [await startWorker(test, openStore(), 50), await startWorker(test, openStore(), 50)]
      const [writer] = workers
      // What listeners take is known from then on.
      await writeTested(writer!.outbox, 'first')
      await writer!.metrics.until((seen) => seen.dispatchSuccess === 1)
      await writeTested(writer!.outbox, ...Array.from({ length: 199 }, (_, index) => index))
      await fairly(workers, 200)
    })
  })
}

async function startWorker(test: TestContext, store: StoreWith<any, 'people'>, listenerMs: number) {
  const options: FixtureOptions = {
    listener: new RecordingListener(() => delay(listenerMs)),
    ...(store.wakeUps === undefined && { poller: { intervalMs: 100, busyIntervalMs: 20 } }),
  }
  return startOutbox(test, store, options)
}

async function fairly(workers: readonly Awaited<ReturnType<typeof startWorker>>[], count: number) {
  const delivered = () => workers.map(({ metrics }) => metrics.dispatchSuccess)
  const total = () => delivered().reduce((sum, each) => sum + each, 0)
  await Promise.race(workers.map(({ metrics }) => metrics.until(() => total() >= count)))

  const ids = workers.flatMap(({ listener }) => listener.ids)
  equal(new Set(ids).size, count)
  equal(ids.length, count)
  for (const each of delivered()) ok(each >= count / 3, `delivered ${delivered().join(' and ')}`)
}
