import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { RateLimit } from '../../src/mail/rate-limit.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { type AnyMailOutbox, enqueue, openMail, startWorker } from './mail-fixture.ts'
import { RecordingTransport } from './recording-transport.ts'

/** Starts several workers, as processes would, on one table with many mails. */
async function fleet(test: TestContext, workers: number, mails: number, limit: number) {
  const clock = fakeClock()
  const mail = await openMail(test, memoryStore({ now: clock.now }), { clock })
  const transport = new RecordingTransport()
  const start = (perSecond: number) =>
    startWorker(test, mail, transport, { clock, rateLimits: { default: { mails: perSecond } } })
  const started = await Promise.all(Array.from({ length: workers }, () => start(limit)))
  await mail.transaction(async () => {
    for (let number = 0; number < mails; number++) await enqueueIn(mail)
  })
  const pass = async (seconds: number) => {
    for (let step = 0; step < seconds * 10; step++) await clock.advance(100)
    return transport.sent.length
  }
  return { mail, transport, started, start, pass }
}

function enqueueIn(mail: AnyMailOutbox): Promise<string> {
  return mail.enqueue({ from: 'a@example.com', to: 'b@example.com', text: 'x' })
}

describe('a rate limit', () => {
  for (const [workers, limit] of [
    [1, 20],
    [2, 20],
    [4, 10],
  ] as const) {
    it(`of ${limit} mails a second lets ${workers} processes send ${workers * limit}`, async (test) => {
      const seconds = 10
      const { pass, transport } = await fleet(test, workers, 1_000, limit)
      const sent = await pass(seconds)
      const wanted = workers * limit * seconds
      ok(sent >= 0.9 * wanted, `${sent} of ${wanted}`)
      // The first one goes at once, and a late one may be made up for.
      ok(sent <= wanted + workers * (1 + limit / 10), `${sent} of ${wanted}`)
      equal(new Set(transport.sent.map(({ id }) => id)).size, sent)
    })
  }

  it('that is raised delays a backlog for at most a minute', async (test) => {
    const { pass, started, start, mail } = await fleet(test, 1, 300, 1)
    await pass(5)
    await started[0]!.close()
    await start(100)
    await pass(61)
    equal((await mail.store.people!.query({ limit: 500, status: [0] })).length, 0)
  })

  it('spaces mails evenly, also after a pause', async () => {
    const clock = fakeClock()
    const limit = new RateLimit('default', { mails: 2 }, { clock, wake: () => {} })
    const turns: number[] = []
    await clock.advance(100_000)
    for (let step = 0; step < 60; step++) {
      while (limit.takeTurn() === 0) turns.push(clock.monotonic() - 100_000)
      await clock.advance(50)
    }
    deepEqual(turns, [0, 500, 1_000, 1_500, 2_000, 2_500])
  })

  it('makes mails that cannot be sent wait for longer the more there are, up to a minute', async () => {
    const limit = new RateLimit('default', { mails: 10 }, { clock: fakeClock(), wake: () => {} })
    equal(limit.takeTurn(), 0)
    const waits = Array.from({ length: 20_000 }, () => limit.takeTurn())
    deepEqual(waits.slice(0, 3), [100, 105, 110])
    ok(Math.max(...waits) <= 60_000)
    ok(waits.filter((wait) => wait < 1_000).length < 250)
  })
})

describe('mails that wait for their turn', () => {
  it('count no attempt', async (test) => {
    const { mail, pass } = await fleet(test, 1, 50, 5)
    await enqueue(mail)
    await pass(2)
    const rows = await mail.store.people!.query({ limit: 100 })
    deepEqual(new Set(rows.map(({ attempts }) => attempts)), new Set([0]))
  })
})
