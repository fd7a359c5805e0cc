import { deepEqual, equal } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { defineEvent } from '../../src/event/event-type.ts'

import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { type OutboxFixture, startOutbox } from '../fixtures/outbox-fixture.ts'
import type { StoreKind } from '../fixtures/stores.ts'

/** How many rows of a version are pending when the next one is deployed. */
export const pending = process.env['SENDOFF_TEST_SCALE'] === 'full' ? 10_000 : 400

const first = defineEvent<{ readonly id: number; readonly cents: number }>('OrderPlaced')
const second = defineEvent<{ readonly id: number; readonly total: number }>('ShopOrderPlaced', {
  version: 2,
  upgrade: { 1: ({ id, cents }: { id: number; cents: number }) => ({ id, total: cents / 100 }) },
  aliases: ['OrderPlaced'],
})

/** Deploys of a new version of a payload, under a new name, while rows of the old one are pending. */
export function testRollingDeploy(kind: StoreKind): void {
  describe(`a deploy of version 2 of a payload, on ${kind.name}`, () => {
    it(`delivers all ${pending} rows of version 1 that were pending as version 2`, async (test) => {
      const open = await kind.open(test)
      await writeFirst(test, open(), 0, pending)
      const seen = new Map<number, unknown>()
      const { metrics } = await startVersion(
        test,
        open(),
        new ListenerRegistry().register(
          second,
          ({ payload, version }) => void seen.set(payload.id, [version, payload]),
        ),
      )
      await metrics.until((now) => now.dispatchSuccess === pending)
      equal(seen.size, pending)
      for (const [id, event] of seen) deepEqual(event, [2, { id, total: id }])
    })

    it('delivers every row of both versions while processes of both run, and gives no process a version that it does not know', async (test) => {
      const open = await kind.open(test)
      await writeFirst(test, open(), 0, pending)
      const seen = new Map<number, unknown>()
      const see = ({ id, ...rest }: { id: number; cents?: number; total?: number }) => void seen.set(id, rest)
      const olds: OutboxFixture[] = []
      for (let count = 0; count < 2; count += 1) {
        olds.push(
          await startVersion(
            test,
            open(),
            new ListenerRegistry().register(first, ({ payload, version }) => {
              deepEqual([version, Object.keys(payload).sort()], [1, ['cents', 'id']])
              see(payload)
            }),
          ),
        )
      }
      const deployed = await startVersion(
        test,
        open(),
        new ListenerRegistry().register(second, ({ payload, version }) => {
          deepEqual([version, Object.keys(payload).sort()], [2, ['id', 'total']])
          see(payload)
        }),
      )
      // Cold rows, which any process may claim.
      await writeSecond(test, open(), pending, 2 * pending)
      // The name of version 1 stays, so the processes of version 1 see what they may not deliver.
      await writeUnderOldName(test, open(), 2 * pending, 3 * pending)
      await deployed.metrics.until((now) => now.dispatchSuccess > pending / 4)
      for (const old of olds) await old.outbox.close()
      const delivered = () =>
        [...olds, deployed].reduce((sum, { metrics }) => sum + metrics.dispatchSuccess, 0)
      await deployed.metrics.until(() => delivered() === 3 * pending)

      equal(seen.size, 3 * pending)
      for (const { metrics } of [...olds, deployed]) {
        deepEqual([metrics.dispatchFailure, metrics.dispatchDead], [0, 0])
      }
    })
  })
}

function startVersion(test: TestContext, store: StoreWith<any, 'people'>, listeners: ListenerRegistry) {
  return startOutbox(test, store, {
    listeners,
    onUnroutable: 'defer',
    unroutableDelayMs: 50,
    poller: { intervalMs: 50, batchSize: 50 },
  })
}

type Id = number

async function write(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  from: Id,
  to: Id,
  eventOf: (id: Id) => ReturnType<typeof first.of>,
): Promise<void> {
  const { outbox } = await startOutbox(test, store, {
    listeners: new ListenerRegistry(),
    poller: { enabled: false },
  })
  const ids = Array.from({ length: to - from }, (_, index) => from + index)
  for (let start = 0; start < ids.length; start += 500) {
    await outbox.transaction(() => outbox.writeAll(ids.slice(start, start + 500).map(eventOf)))
  }
  await outbox.close()
}

const writeFirst = (test: TestContext, store: StoreWith<any, 'people'>, from: Id, to: Id) =>
  write(test, store, from, to, (id) => first.of({ id, cents: id * 100 }))

const writeSecond = (test: TestContext, store: StoreWith<any, 'people'>, from: Id, to: Id) =>
  write(test, store, from, to, (id) => second.of({ id, total: id }))

const writeUnderOldName = (test: TestContext, store: StoreWith<any, 'people'>, from: Id, to: Id) =>
  write(test, store, from, to, (id) => ({
    type: { name: 'OrderPlaced' },
    payload: { id, total: id },
    fields: { headers: { 'event-version': '2' } },
  }))
