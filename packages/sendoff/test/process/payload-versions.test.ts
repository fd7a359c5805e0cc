import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { UnrecoverableError } from '../../src/errors.ts'
import type { EventEnvelope } from '../../src/event/event-envelope.ts'
import { defineEvent } from '../../src/event/event-type.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { onEveryStore, rowOf, startOutbox } from '../fixtures/outbox-fixture.ts'

interface First {
  readonly id: string
  readonly cents: number
}

const first = defineEvent<First>('Placed', { aggregateType: 'Order', aggregateId: ({ id }) => id })
const third = defineEvent('Placed', {
  aggregateType: 'Order',
  schema: v.object({ id: v.string(), total: v.number(), currency: v.string() }),
  aggregateId: ({ id }) => id,
  version: 3,
  upgrade: {
    1: ({ id, cents }: First) => ({ id, total: cents / 100 }),
    2: (old) => ({ ...old, currency: 'EUR' }),
  },
})
const second = defineEvent('Placed', {
  aggregateType: 'Order',
  schema: v.object({ id: v.string(), total: v.number() }),
  version: 2,
  upgrade: { 1: third.upgrade[1] as (old: unknown) => { id: string; total: number } },
})

const asWritten = ({ payload, payloadJson, headers, eventType, version }: EventEnvelope) => ({
  payload,
  json: JSON.parse(payloadJson!) as unknown,
  header: headers['event-version'],
  eventType,
  version,
})

onEveryStore('rows of every older version reach the listener in the newest', async (test, open, mode) => {
  const seen: unknown[] = []
  const listeners = new ListenerRegistry().register(third, (event) => void seen.push(asWritten(event)))
  const intercepted: number[] = []
  const { outbox, metrics } = await startOutbox(test, open(), {
    mode,
    listeners,
    interceptors: [
      { beforeDispatch: ({ version }) => intercepted.push(version) },
      { afterDispatch: ({ version }) => intercepted.push(version) },
    ],
  })
  await outbox.transaction(async () => {
    await outbox.write(first, { id: 'a', cents: 150 })
    await outbox.write(second, { id: 'b', total: 2 })
    await outbox.write(third, { id: 'c', total: 3, currency: 'SEK' })
  })
  await metrics.until((now) => now.dispatchSuccess === 3)

  const expected = [
    { id: 'a', total: 1.5, currency: 'EUR' },
    { id: 'b', total: 2, currency: 'EUR' },
    { id: 'c', total: 3, currency: 'SEK' },
  ].map((payload) => ({ payload, json: payload, header: '3', eventType: 'Placed', version: 3 }))
  deepEqual(new Set(seen), new Set(expected))
  deepEqual(intercepted, [3, 3, 3, 3, 3, 3])
})

onEveryStore(
  'a step that throws is a failed attempt, and the event is delivered when the step is mended',
  async (test, open, mode) => {
    let isMended = false
    const event = defineEvent<{ readonly total: number }>('Counted', {
      version: 2,
      upgrade: {
        1: () => {
          if (!isMended) throw new TypeError('no such field')
          return { total: 1 }
        },
      },
    })
    const seen: number[] = []
    const listeners = new ListenerRegistry().register(event, ({ payload }) => void seen.push(payload.total))
    const { outbox, store, metrics } = await startOutbox(test, open(), {
      mode,
      listeners,
      retryPolicy: fixedDelay(1),
      maxAttempts: 1_000,
    })
    const id = await outbox.transaction(() => outbox.write('Counted', {}))
    await metrics.until((now) => now.dispatchFailure >= 2)
    const failing = (await rowOf(store, id))!
    ok(failing.attempts >= 1)
    match(
      failing.lastError!,
      /The upgrade of event \w+ \(Counted\) from version 1 to 2 failed.*caused by TypeError: no such field/,
    )
    equal(metrics.dispatchDead, 0)
    isMended = true
    await metrics.until((now) => now.dispatchSuccess === 1)
    deepEqual(seen, [1])
  },
)

describe('a failed upgrade', () => {
  const cases = {
    'whose payload does not fit the schema is a failed attempt': {
      step: () => ({ total: 'much' }),
      error: /does not fit its schema after its upgrade to version 2: total: /,
    },
    'whose payload cannot be written as JSON is a failed attempt': {
      step: () => undefined,
      error: /from version 1 to 2 failed.*cannot be written as JSON/,
    },
    'whose step returns a promise is a failed attempt': {
      step: () => Promise.reject(new Error('never seen')),
      error: /from version 1 to 2 failed.*returned a promise/,
    },
  }
  for (const [name, { step, error }] of Object.entries(cases)) {
    it(name, async (test) => {
      const event = defineEvent('Counted', {
        schema: v.object({ total: v.number() }),
        version: 2,
        upgrade: { 1: step as () => never },
      })
      const listeners = new ListenerRegistry().register(event, () => test.assert.fail('it must not run'))
      const { outbox, store, metrics } = await startOutbox(test, memoryStore(), {
        listeners,
        retryPolicy: fixedDelay(1),
        maxAttempts: 3,
      })
      const id = await outbox.transaction(() => outbox.write('Counted', {}))
      await metrics.until((now) => now.dispatchDead === 1)
      equal(metrics.dispatchFailure, 2)
      match((await rowOf(store, id))!.lastError!, error)
    })
  }

  it('is DEAD at once if the step says that no attempt can succeed', async (test) => {
    const event = defineEvent<object>('Counted', {
      version: 2,
      upgrade: {
        1: () => {
          throw new UnrecoverableError('nothing to read in it')
        },
      },
    })
    const listeners = new ListenerRegistry().register(event, () => {})
    const { outbox, metrics } = await startOutbox(test, memoryStore(), { listeners })
    await outbox.transaction(() => outbox.write('Counted', {}))
    await metrics.until((now) => now.dispatchDead === 1)
    equal(metrics.dispatchFailure, 0)
  })
})

onEveryStore(
  'a process leaves an event of a newer version to one that knows it, without an attempt',
  async (test, open, mode) => {
    const seenByOld: unknown[] = []
    const old = await startOutbox(test, open(), {
      mode,
      listeners: new ListenerRegistry().register(first, (event) => void seenByOld.push(event.payload)),
      unroutableDelayMs: 1,
    })
    const ids = await old.outbox.transaction(async () => [
      await old.outbox.write(third, { id: 'a', total: 1, currency: 'EUR' }),
      await old.outbox.write(second, { id: 'b', total: 2 }),
    ])
    await old.metrics.until((now) => now.dispatchDeferred >= 2)
    await old.outbox.poll()
    for (const id of ids) {
      const row = (await rowOf(old.store, id))!
      deepEqual([row.attempts, row.status === 1, row.status === 3], [0, false, false])
    }
    await old.outbox.close()
    deepEqual(seenByOld, [])
    deepEqual([old.metrics.dispatchFailure, old.metrics.dispatchDead], [0, 0])
    const warnings = old.log.filter((line) => line.includes('knows versions up to 1'))
    equal(warnings.length, 2, 'one for each version')

    const seen: string[] = []
    const { metrics, outbox } = await startOutbox(test, open(), {
      mode,
      listeners: new ListenerRegistry().register(third, ({ payload }) => void seen.push(payload.currency)),
      poller: { intervalMs: 5 },
    })
    await metrics.until((now) => now.dispatchSuccess === 2)
    deepEqual(seen, ['EUR', 'EUR'])
    await outbox.close()
  },
)

onEveryStore('rows under a former name reach the listener under the new one', async (test, open, mode) => {
  const renamed = defineEvent<First>('Ordered', {
    aggregateType: 'Sale',
    aliases: ['Bought', { aggregateType: 'Order', eventType: 'Placed' }],
  })
  const seen: unknown[] = []
  const { outbox, metrics } = await startOutbox(test, open(), {
    mode,
    // Such a worker claims by name.
    onUnroutable: 'defer',
    listeners: new ListenerRegistry().register(
      renamed,
      ({ eventType, aggregateType, payload, orderingKey }) => {
        if (seen.push([aggregateType, eventType, payload.id, orderingKey]) % 2 === 0) throw new Error('once')
      },
    ),
    retryPolicy: { computeDelayMs: () => 600_000 },
    retryPolicyByType: { Ordered: fixedDelay(1) },
  })
  await outbox.transaction(async () => {
    await outbox.write(first, { id: 'a', cents: 1 })
    await outbox.write('Bought', { id: 'b', cents: 1 }, { aggregateType: 'Sale' })
  })
  await metrics.until((now) => now.dispatchSuccess === 2)
  deepEqual(
    new Set(seen.map(String)),
    new Set(['Sale,Ordered,a,Order:a', 'Sale,Ordered,b,']),
    'the ordering key stays as it was written',
  )
})

describe('aliases', () => {
  it('that collide with another event, alias or listener are refused', (test) => {
    const renamed = defineEvent<object>('Ordered', { aliases: ['Bought'] })
    const other = defineEvent<object>('Sold', { aliases: ['Bought'] })
    const listener = () => {}
    const registered = () => new ListenerRegistry().register(renamed, listener)
    const message = /"Bought".*an alias of event "(Ordered|Sold)"/
    for (const collides of [
      () => registered().register('Bought', listener),
      () => registered().register(other, listener),
      () => new ListenerRegistry().register('Bought', listener).register(renamed, listener),
      () => new ListenerRegistry().register(['Bought', renamed], listener),
      () => new ListenerRegistry().register([renamed, other], listener),
    ]) {
      test.assert.throws(collides, { code: 'OUTBOX_DUPLICATE_LISTENER', message })
    }
    deepEqual(
      registered().types?.map(({ eventType }) => eventType),
      ['Ordered', 'Bought'],
    )
  })
})

describe('listeners for several events', () => {
  it('get each event of a batch in the newest version of its own definition', async (test) => {
    const counted = defineEvent<{ readonly n: number }>('Counted', {
      version: 2,
      upgrade: { 1: (n: number) => ({ n }) },
    })
    const seen: unknown[] = []
    const batches = new ListenerRegistry().register([third, counted, 'Plain'], {
      onEvents: (events) => void seen.push(...events.map((event) => asWritten(event))),
    })
    const writer = await startOutbox(test, memoryStore(), { listeners: batches, workerCount: 1 })
    await writer.outbox.transaction(async () => {
      await writer.outbox.write('Counted', 5)
      await writer.outbox.write(first, { id: 'a', cents: 150 })
      await writer.outbox.write('Plain', {}, { headers: { 'event-version': '9' } })
    })
    await writer.metrics.until((now) => now.dispatchSuccess === 3)
    const placed = { id: 'a', total: 1.5, currency: 'EUR' }
    deepEqual(
      new Set(seen),
      new Set([
        { payload: { n: 5 }, json: { n: 5 }, header: '2', eventType: 'Counted', version: 2 },
        { payload: placed, json: placed, header: '3', eventType: 'Placed', version: 3 },
        // A listener by name gets every version, as it is stored.
        { payload: {}, json: {}, header: '9', eventType: 'Plain', version: 9 },
      ]),
    )
  })

  it('get bytes that an upgrade has turned into JSON, and JSON that it has turned into bytes', async (test) => {
    const bytes = defineEvent<unknown>('Pictured', {
      version: 2,
      upgrade: { 1: (old) => (old instanceof Uint8Array ? { size: old.length } : new Uint8Array([1, 2])) },
    })
    const seen: unknown[] = []
    const { outbox, metrics } = await startOutbox(test, memoryStore(), {
      listeners: new ListenerRegistry().register(bytes, ({ payload, payloadJson, contentType }) => {
        seen.push([payload, payloadJson, contentType])
      }),
    })
    await outbox.transaction(async () => {
      await outbox.write('Pictured', new Uint8Array(3))
      await outbox.write('Pictured', {})
    })
    await metrics.until((now) => now.dispatchSuccess === 2)
    deepEqual(seen, [
      [{ size: 3 }, '{"size":3}', null],
      [new Uint8Array([1, 2]), undefined, 'application/octet-stream'],
    ])
  })
})
