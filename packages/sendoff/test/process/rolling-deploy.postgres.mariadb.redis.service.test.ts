import { deepEqual, equal, ok } from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { defineEvent } from '../../src/event/event-type.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { startOutbox } from '../fixtures/outbox-fixture.ts'
import { serverStoreKinds } from '../fixtures/server-stores.ts'
import { newSchema } from '../stores/postgres/test-store.ts'
import { testRollingDeploy } from './rolling-deploy-suite.ts'

describe('on servers', { concurrency: true }, () => serverStoreKinds.forEach(testRollingDeploy))

it('rows of both versions are delivered after the process of version 1 was killed', async (test) => {
  const { schema, newPool } = await newSchema(test)
  const second = defineEvent<{ readonly id: number; readonly total: number }>('OrderPlaced', {
    version: 2,
    upgrade: { 1: ({ id, cents }: { id: number; cents: number }) => ({ id, total: cents / 100 }) },
  })
  const store = () => postgresStore({ client: newPool(), schema })
  const writer = await startOutbox(test, store(), {
    listeners: new ListenerRegistry(),
    poller: { enabled: false },
  })
  const ids = Array.from({ length: 100 }, (_, id) => id)
  await writer.outbox.transaction(async () => {
    await writer.outbox.writeAll(
      ids.flatMap((id) => [
        { type: { name: 'OrderPlaced' }, payload: { id: 2 * id, cents: 200 * id } },
        second.of({ id: 2 * id + 1, total: 2 * id + 1 }),
      ]),
    )
  })

  const old = fork(new URL('old-version-process.ts', import.meta.url), [schema], { stdio: 'inherit' })
  test.after(() => old.kill('SIGKILL'))
  const seenByOld: { readonly id: number }[] = []
  const hangs = Promise.withResolvers<void>()
  // It sends each payload that its listener gets, and never settles the tenth.
  old.on('message', (payload: { readonly id: number }) => {
    if (seenByOld.push(payload) === 10) hangs.resolve()
  })
  await hangs.promise
  old.kill('SIGKILL')
  await once(old, 'exit')

  const seen = new Set<number>()
  const { metrics } = await startOutbox(test, store(), {
    listeners: new ListenerRegistry().register(second, ({ payload, version }) => {
      deepEqual([version, payload], [2, { id: payload.id, total: payload.id }])
      seen.add(payload.id)
    }),
    poller: { intervalMs: 50 },
  })
  const isDelivered = (id: number) => seen.has(id) || seenByOld.some((payload) => payload.id === id)
  await metrics.until(() => Array.from({ length: 200 }, (_, id) => id).every(isDelivered))
  equal(metrics.dispatchFailure, 0)
  for (const payload of seenByOld) ok('cents' in payload, 'the old process saw version 1 only')
})
