import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import type { OutboxEventMap } from '../../src/observe/outbox-events.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { onEveryStore, startOutbox, until, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore('a program is told about failed and dead events', async (test, open, mode) => {
  const listener = new RecordingListener(() => {
    throw new Error('away')
  })
  const options = { mode, listener, maxAttempts: 2, retryPolicy: fixedDelay(1) }
  const { outbox } = await startOutbox(test, open(), options)
  const told: string[] = []
  const dead = Promise.withResolvers<OutboxEventMap['dead']>()
  outbox.events.on('failed', ({ eventType, attempt, maxAttempts, nextInMs, reason }) => {
    told.push(`${eventType} ${attempt}/${maxAttempts} ${nextInMs} ${reason}`)
  })
  const end = outbox.events.on('dead', () => told.push('never'))
  end()
  outbox.events.on('dead', dead.resolve)
  const [eventId] = await writeTested(outbox, { secret: 'payload' })
  const report = await dead.promise
  deepEqual(told, ['Tested 1/2 1 Error: away'])
  deepEqual(
    [report.eventId, report.attempt, report.reason, report.destination],
    [eventId, 2, 'Error: away', ''],
  )
  equal(JSON.stringify(report).includes('payload'), false)
})

onEveryStore(
  'a subscriber that throws, rejects or hangs is in no way of deliveries',
  async (test, open, mode) => {
    let calls = 0
    const listener = new RecordingListener(() => {
      if (++calls % 2 === 1) throw new Error('not yet')
    })
    const { outbox, log, metrics } = await startOutbox(test, open(), {
      mode,
      listener,
      retryPolicy: fixedDelay(1),
    })
    outbox.events.on('failed', () => {
      throw new Error('bad subscriber')
    })
    outbox.events.on('failed', () => Promise.reject(new Error('bad promise')))
    outbox.events.on('failed', () => new Promise(() => {}))
    await writeTested(outbox, 1, 2, 3)
    await metrics.until((seen) => seen.dispatchSuccess === 3)
    await until(() => log.filter((line) => line.includes('A subscriber to "failed" failed')).length >= 2)
    match(log.join('\n'), /bad subscriber/)
    match(log.join('\n'), /bad promise/)
  },
)

describe('events of an outbox', () => {
  it('report an outage of the store, and its end', async (test) => {
    const store = memoryStore()
    const claim = store.claim.bind(store)
    let isDown = false
    store.claim = (...args) => (isDown ? Promise.reject(new Error('connection refused')) : claim(...args))
    const outbox = await Outbox.multiNode({
      store,
      logger: false,
      poller: { intervalMs: 5 },
    }).start()
    test.after(() => outbox.close())
    const target = new EventTarget()
    outbox.events.on('outage', (report) =>
      target.dispatchEvent(new CustomEvent('outage', { detail: report })),
    )
    outbox.events.on('recovered', (report) =>
      target.dispatchEvent(new CustomEvent('recovered', { detail: report })),
    )
    const outage = once(target, 'outage')
    const recovered = once(target, 'recovered')
    isDown = true
    const [{ detail: start }] = (await outage) as [CustomEvent<OutboxEventMap['outage']>]
    equal(start.of, 'store')
    match(start.reason, /connection refused/)
    isDown = false
    const [{ detail: end }] = (await recovered) as [CustomEvent<OutboxEventMap['recovered']>]
    equal(end.of, 'store')
    equal(end.lastedMs >= 0, true)
  })

  for (const mode of ['multiNode', 'partitioned', 'singleWriter'] as const) {
    it(`report the outage of one destination, and its end, in ${mode}`, async (test) => {
      const outbox = await Outbox[mode]({
        store: memoryStore(),
        logger: false,
        routing: {
          version: 1,
          rules: [{ to: ['broker', 'mail'] }],
          destinations: {
            broker: { circuitBreaker: { minimumCalls: 2, coolDownMs: 20 } },
            mail: { circuitBreaker: { minimumCalls: 2 } },
          },
        },
      }).start()
      test.after(() => outbox.close())
      let isAway = true
      // A publisher defers events while its broker is away.
      outbox.on('Tested', () => (isAway ? DispatchResult.retryAfter(1) : DispatchResult.done()), {
        destination: 'broker',
      })
      outbox.on('Tested', () => {}, { destination: 'mail' })
      const told: unknown[] = []
      outbox.events.on('outage', (report) => told.push(report))
      outbox.events.on('recovered', ({ lastedMs, ...report }) => {
        equal(lastedMs > 0, true)
        told.push(report)
      })
      await outbox.transaction(async () => {
        for (let number = 0; number < 5; number++) await outbox.write('Tested', number)
      })
      const outage = { of: 'destination', destination: 'broker' }
      await until(() => told.length === 1)
      deepEqual(told, [{ ...outage, reason: 'Most deliveries to destination "broker" fail.' }])
      isAway = false
      await until(async () => {
        if (mode === 'singleWriter') await outbox.transaction(() => outbox.write('Tested', 0))
        return told.length > 1
      })
      deepEqual(told.slice(1), [outage])
    })
  }

  it('report a key that is blocked', async (test) => {
    const outbox = await Outbox.partitioned({
      store: memoryStore(),
      logger: false,
      onKeyFailure: 'block',
      maxAttempts: 1,
    }).start()
    test.after(() => outbox.close())
    const blocked = Promise.withResolvers<OutboxEventMap['blocked']>()
    outbox.events.on('blocked', blocked.resolve)
    outbox.on('Tested', () => {
      throw new Error('away')
    })
    await outbox.transaction(() => outbox.write('Tested', 1, { orderingKey: 'k' }))
    equal((await blocked.promise).orderingKey, 'k')
  })

  it('refuse a name that does not exist', () => {
    const outbox = Outbox.writerOnly({ store: memoryStore() })
    throws(() => outbox.events.on('died' as 'dead', () => {}), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
