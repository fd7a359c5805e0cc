import { deepEqual, equal, ok } from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { startOutbox } from '../fixtures/outbox-fixture.ts'
import { serverStoreKinds } from '../fixtures/server-stores.ts'
import { newSchema } from '../stores/postgres/test-store.ts'
import { orderPlaced } from './order-versions.ts'
import { pending, testRollingDeploy } from './rolling-deploy-suite.ts'

describe('on servers', { concurrency: true }, () => serverStoreKinds.forEach(testRollingDeploy))

it('rows of both versions are delivered after a process of each version was killed', async (test) => {
  const { schema, newPool } = await newSchema(test)
  const { first, second } = orderPlaced
  const store = () => postgresStore({ client: newPool(), schema })
  const writer = await startOutbox(test, store(), {
    listeners: new ListenerRegistry(),
    poller: { enabled: false },
  })
  const ids = Array.from({ length: pending / 2 }, (_, id) => id)
  await writer.outbox.transaction(async () => {
    await writer.outbox.writeAll(
      ids.flatMap((id) => [
        first.of({ id: 2 * id, cents: 200 * id }),
        second.of({ id: 2 * id + 1, total: 2 * id + 1 }),
      ]),
    )
  })

  const [old, deployed] = await Promise.all([startVersion(test, schema, 1), startVersion(test, schema, 2)])
  // Each holds rows, and never settles the tenth.
  for (const { process } of [old, deployed]) {
    process.kill('SIGKILL')
    await once(process, 'exit')
  }
  const seen = new Set([...old.seen, ...deployed.seen].map(({ id }) => id))
  ok(seen.size < pending)

  const { metrics } = await startOutbox(test, store(), {
    listeners: new ListenerRegistry().register(second, ({ payload, version }) => {
      deepEqual([version, payload], [2, { id: payload.id, total: payload.id }])
      seen.add(payload.id)
    }),
    poller: { intervalMs: 50 },
  })
  await metrics.until(() => seen.size === pending)
  equal(metrics.dispatchFailure, 0)
  for (const payload of old.seen) deepEqual(Object.keys(payload).sort(), ['cents', 'id'])
  for (const payload of deployed.seen) deepEqual(payload, { id: payload.id, total: payload.id })
})

interface RunningVersion {
  readonly process: ChildProcess
  readonly seen: readonly { readonly id: number }[]
}

/** Starts a process that knows one version, and resolves when its listener hangs in the tenth event. */
async function startVersion(test: TestContext, schema: string, version: 1 | 2): Promise<RunningVersion> {
  const program = new URL('version-process.ts', import.meta.url)
  const process = fork(program, [schema, String(version)], { stdio: 'inherit' })
  test.after(() => process.kill('SIGKILL'))
  const seen: { readonly id: number }[] = []
  const hangs = Promise.withResolvers<void>()
  process.on('message', (payload: { readonly id: number }) => {
    if (seen.push(payload) === 10) hangs.resolve()
  })
  await hangs.promise
  return { process, seen }
}
