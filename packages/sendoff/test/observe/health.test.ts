import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { healthHandler } from '../../src/observe/health.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

onEveryStore('an outbox that works is live and ready', async (test, open, mode) => {
  const { outbox } = await startOutbox(test, open(), { mode })
  await writeTested(outbox, 1)
  await outbox.drain()
  const health = await outbox.health()
  deepEqual([health.isLive, health.isReady, health.problems], [true, true, []])
  deepEqual(health.table?.rows, { NEW: 0, RETRY: 0, DONE: 1, DEAD: 0 })
  deepEqual(health.process.held, { leased: 0, locked: 0 })
  await outbox.close()
  const closed = await outbox.health()
  deepEqual(
    [closed.isLive, closed.isReady, closed.problems],
    [true, false, ['The outbox is not started: it is closed.']],
  )
})

describe('health', () => {
  async function start(options = {}) {
    const clock = fakeClock()
    const store = memoryStore({ now: clock.now })
    const database = { isDown: false, isSilent: false }
    for (const [part, name] of [
      [store, 'claim'],
      [store.nodes, 'join'],
      [store.looks, 'tally'],
    ] as const) {
      const real = Reflect.get(part, name) as (...args: unknown[]) => Promise<unknown>
      Reflect.set(part, name, (...args: unknown[]) => {
        if (database.isSilent) return new Promise(() => {})
        return database.isDown ? Promise.reject(new Error('connection refused')) : real.apply(part, args)
      })
    }
    const outbox = await Outbox.multiNode({ store, clock, logger: false, ...options }).start()
    return { clock, store, database, outbox, answer: healthHandler(outbox) }
  }
  const request = (path: string) => new Request(`http://localhost${path}`)

  it('is live but not ready while the database is away, and ready after it', async (test) => {
    const { clock, database, outbox, answer } = await start()
    test.after(() => outbox.close())
    equal((await answer(request('/readyz'))).status, 200)
    database.isDown = true
    // An hour of outage.
    await clock.advance(3_600_000)
    equal((await answer(request('/livez'))).status, 200)
    const down = await answer(request('/readyz'))
    equal(down.status, 503)
    const { isLive, problems } = (await down.json()) as { isLive: boolean; problems: string[] }
    equal(isLive, true)
    equal(problems[0], 'The store does not answer.')

    database.isDown = false
    await clock.advance(60_000)
    equal((await answer(request('/readyz'))).status, 200)
  })

  it('does not wait for a database that hangs', async (test) => {
    const { clock, database, outbox, answer } = await start()
    test.after(() => outbox.close())
    database.isSilent = true
    const probe = answer(request('/readyz'))
    await clock.advance(2_000)
    equal((await probe).status, 503)

    database.isSilent = false
    // The look gets no answer any more. Half a lease after its start, the outbox gives it up.
    await clock.advance(13_000)
    equal((await answer(request('/readyz'))).status, 200)
  })

  it('keeps its thresholds', async (test) => {
    const { clock, outbox } = await start({ health: { maxLagMs: 10_000, maxDeadMs: 60_000 }, maxAttempts: 1 })
    test.after(() => outbox.close())
    outbox.on('Dying', () => {
      throw new Error('away')
    })
    await outbox.pause({ eventType: 'Waiting' })
    await outbox.transaction(async () => {
      await outbox.write('Dying', 1)
      await outbox.write('Waiting', 1)
    })
    await clock.advance(9_000)
    equal((await outbox.health()).isReady, true)
    await clock.advance(5_000)
    deepEqual((await outbox.health()).problems, ['The oldest due event has waited for 14 s.'])
    await clock.advance(60_000)
    deepEqual((await outbox.health()).problems, [
      'The oldest due event has waited for 74 s.',
      'An event has been DEAD for 74 s.',
    ])
  })

  it('is not live if the poller does nothing at all', async (test) => {
    const { clock, outbox, answer } = await start()
    test.after(() => outbox.close())
    const original = clock.schedule.bind(clock)
    clock.schedule = () => () => {}
    await clock.advance(5_000)
    await clock.advance(600_000)
    equal((await answer(request('/live'))).status, 503)
    clock.schedule = original
  })

  it('checks its thresholds', () => {
    const make = (health: object) => () => Outbox.writerOnly({ store: memoryStore(), health })
    throws(make({ maxLag: 1 }), { code: 'OUTBOX_UNKNOWN_OPTION' })
    throws(make({ maxLagMs: 0 }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
