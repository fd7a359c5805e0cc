import { deepEqual, fail, ok } from 'node:assert/strict'
import type { EventEmitter } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { faultProxy } from '../../../../test/services/proxy/fault-proxy.ts'
import type { OutboxHealth } from '../../src/observe/health.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { newStore } from '../stores/postgres/test-store.ts'

/** The upkeep of the outbox uses one connection at the start, and the look another. */
const pooled = 6

// A process that only writes has no calls of its own that would find a dead connection.
describe('health over connections that went dead without a word', { concurrency: true }, () => {
  it('gives up the look, and the next one uses a new connection', { timeout: 40_000 }, async (test) => {
    const { proxy, store, outbox } = await start(test)
    await Promise.all(Array.from({ length: pooled }, () => store.people.count({})))
    proxy.blackHole()
    await isReadyAgain(outbox)
  })

  it('gives up a look in the middle', { timeout: 40_000 }, async (test) => {
    const { proxy, outbox, pool } = await start(test)
    let isDead = false
    pool.on('acquire', (client) => {
      const { connection } = client as unknown as { readonly connection: EventEmitter }
      connection.on('commandComplete', ({ text }: { readonly text: string }) => {
        if (!isDead && text === 'BEGIN') {
          isDead = true
          proxy.blackHole()
        }
      })
    })
    await isReadyAgain(outbox)
  })

  async function start(test: TestContext) {
    const proxy = await faultProxy(process.env['POSTGRES_URL']!)
    test.after(() => proxy.close())
    const { schema, newPool } = await newStore(test)
    const pool = newPool({ connectionString: proxy.url })
    const store = postgresStore({ client: pool, schema })
    const outbox = Outbox.writerOnly({ store, logger: false })
    test.after(() => outbox.close())
    await outbox.start()
    return { proxy, store, outbox, pool }
  }
})

async function isReadyAgain(outbox: { health(): Promise<OutboxHealth> }): Promise<void> {
  const startedAt = performance.now()
  deepEqual((await outbox.health()).problems, ['The store does not answer.'])
  ok(performance.now() - startedAt < 5_000, 'a probe waits 2 s')
  const within = AbortSignal.timeout(30_000)
  while (!within.aborted) if ((await outbox.health()).isReady) return
  fail('The outbox stays not ready, although the database answers new connections.')
}
