import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { z } from 'zod'
import { defineEvent } from '../../src/event/event-type.ts'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { testOutbox } from '../../src/testing/index.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

function nested(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth))
}

const circular: { self?: unknown } = {}
circular.self = circular

const badWrites: Record<string, [unknown[], string, RegExp]> = {
  'a circular payload': [['Tested', circular], 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE', /circular/],
  'a BigInt': [['Tested', { n: 1n }], 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE', /BigInt/],
  'no payload': [['Tested', undefined], 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE', /undefined/],
  'a function': [['Tested', () => {}], 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE', /function/],
  'a payload over 1 MiB': [['Tested', 'x'.repeat(1_048_576)], 'OUTBOX_PAYLOAD_TOO_LARGE', /reference/],
  'a number as type': [[7, {}], 'OUTBOX_INVALID_EVENT', /not 7/],
  'no type': [[undefined, {}], 'OUTBOX_INVALID_EVENT', /defined event or the name/],
  'a time and a delay': [
    ['Tested', 1, { availableAt: new Date(), deliverAfterMs: 1 }],
    'OUTBOX_INVALID_EVENT',
    /both availableAt and deliverAfterMs/,
  ],
  'a misspelt field': [
    ['Tested', 1, { tenant: 'a' }],
    'OUTBOX_UNKNOWN_OPTION',
    /no option "tenant".*tenantId/,
  ],
  'a payload nested too deeply for JSON.stringify': [
    ['Tested', nested(100_000)],
    'OUTBOX_PAYLOAD_TOO_DEEP',
    /deeper than 1000 levels/,
  ],
  'a payload nested one level too deeply': [
    ['Tested', nested(1_001)],
    'OUTBOX_PAYLOAD_TOO_DEEP',
    /deeper than 1000 levels/,
  ],
  'a date beyond what every store keeps': [
    ['Tested', 1, { occurredAt: new Date(8.64e15) }],
    'OUTBOX_INVALID_EVENT',
    /occurredAt outside the years 1000 to 9999/,
  ],
  'a schema that JSON does not survive': [
    [
      defineEvent('Tested', { schema: z.object({ at: z.object({ day: z.date() }) }) }),
      { at: { day: new Date() } },
    ],
    'OUTBOX_PAYLOAD_NOT_SERIALIZABLE',
    /at\.day: .*JSON turns a Date into text/,
  ],
  'a schema that JSON does not survive, and that takes its time': [
    [defineEvent('Tested', { schema: z.object({ n: z.nan() }).refine(async () => true) }), { n: Number.NaN }],
    'OUTBOX_PAYLOAD_NOT_SERIALIZABLE',
    /n: .*NaN and Infinity into null/,
  ],
  'a payload that does not fit its schema': [
    [defineEvent('Tested', { schema: z.object({ total: z.number() }) }), { total: 'much' }],
    'OUTBOX_INVALID_PAYLOAD',
    /total: /,
  ],
}

onEveryStore('an error names bad input, and nothing else is lost', async (test, open, mode) => {
  const { outbox, store, listener, metrics } = await startOutbox(test, open(), { mode })
  for (const [name, [args, code, message]] of Object.entries(badWrites)) {
    await outbox.transaction(async () => {
      await outbox.write('Tested', `before ${name}`)
      await rejects((outbox.write as (...args: unknown[]) => Promise<unknown>)(...args), { code, message })
    })
  }
  const names = Object.keys(badWrites)
  await metrics.until((seen) => seen.dispatchSuccess === names.length)
  deepEqual(listener.payloads.sort(), names.map((name) => `before ${name}`).sort())
  equal(await store.people.count({}), names.length)
})

onEveryStore(
  'a payload is delivered as it is stored, on the hot path and on the cold path',
  async (test, open, mode) => {
    const texts = ['"half \ud800 of a pair"', '"\udc00\ud83d\ude80"', JSON.stringify('\ud800')]
    for (const enabled of [true, false]) {
      const seen: unknown[] = []
      const listeners = new ListenerRegistry().register(
        'Tested',
        ({ payloadJson }) => void seen.push(payloadJson),
      )
      const { outbox, store, metrics } = await startOutbox(test, open(), {
        mode,
        listeners,
        poller: { enabled, intervalMs: 600_000 },
      })
      await outbox.transaction(() =>
        outbox.writeAll(texts.map((text) => EventEnvelope.ofJson('Tested', text))),
      )
      await metrics.until(({ dispatchSuccess }) => dispatchSuccess === texts.length)

      const stored = await store.people.query({ limit: 10 })
      deepEqual(
        seen.sort(),
        stored
          .map(({ payload }) => payload)
          .slice(-texts.length)
          .sort(),
      )
      for (const text of seen) equal((text as string).isWellFormed(), true)
      deepEqual(
        seen.map((text) => JSON.parse(text as string) as unknown).sort(),
        texts.map((text) => JSON.parse(text) as unknown).sort(),
      )
      await outbox.close()
    }
  },
)

it('a payload is checked after a way through JSON at the first write of its type, and always in a test outbox', async (test) => {
  let validations = 0
  const schema = z.object({ at: z.date().optional() }).refine(() => (validations += 1))
  const event = defineEvent('Tested', { schema })
  const { outbox } = await startOutbox(test, memoryStore(), {
    poller: { enabled: false },
    listeners: new ListenerRegistry(),
  })
  await outbox.transaction(() => outbox.write(event, {}))
  equal(validations, 2)
  await outbox.transaction(() => outbox.write(event, { at: new Date() }))
  equal(validations, 3)

  const tested = await testOutbox()
  test.after(() => tested.close())
  await tested.transaction(() => tested.write(event, {}))
  await rejects(
    tested.transaction(() => tested.write(event, { at: new Date() })),
    { code: 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE', message: /at: / },
  )
})

onEveryStore(
  'a stored payload that is not JSON, or does not fit its schema, becomes DEAD',
  async (test, open, mode) => {
    const event = defineEvent('Checked', { schema: v.object({ total: v.number() }) })
    const seen: number[] = []
    const listeners = new ListenerRegistry().register(event, ({ payload }) => void seen.push(payload.total))
    const { outbox, store, metrics, log } = await startOutbox(test, open(), { mode, listeners })
    const broken = { toJson: () => '{"total": 17secret', fromJson: JSON.parse }
    const writer = await startOutbox(test, open(), { mode, codec: broken, poller: { enabled: false } })

    const corrupt = await writer.outbox.transaction(() => writer.outbox.write('Checked', 1))
    await outbox.transaction(async () => {
      await outbox.write(EventEnvelope.ofJson('Checked', '{"total":"much"}'))
      await outbox.write(event, { total: 5 })
    })
    await outbox.poll()
    await metrics.until((now) => now.dispatchSuccess === 1 && now.dispatchDead === 2)

    deepEqual(seen, [5])
    const errors = (await store.people.query({ status: [3], limit: 5 })).map((row) => row.lastError!)
    match(errors.join('\n'), /PayloadParseError: The payload of event \w+ \(Checked\) is not valid JSON/)
    match(
      errors.join('\n'),
      /PayloadParseError: The stored payload of event \w+ \(Checked\) does not fit its schema: total: /,
    )
    equal((await rowOf(store, corrupt))!.status, 3)
    equal(/17secret/.test(errors.join('\n') + log.join('\n')), false, 'payloads must not leak')
  },
)

describe('an outbox', () => {
  const store = memoryStore()
  const listeners = new ListenerRegistry()
  const make = (options: object) => () => Outbox.singleNode(options as never)

  it('refuses unknown options, and names the existing ones', () => {
    throws(make({ store, listeners, workers: 3 }), {
      code: 'OUTBOX_UNKNOWN_OPTION',
      message: /Outbox\.singleNode has no option "workers".*workerCount/,
    })
    throws(make({ store, listeners, poller: { interval: 3 } }), {
      code: 'OUTBOX_UNKNOWN_OPTION',
      message: /poller of Outbox/,
    })
  })

  it('refuses options that do not fit, and missing ones', () => {
    const unfit = {
      workerCount: [0, -1, 1.5, Infinity, '4'],
      hotQueueCapacity: [0, Infinity],
      leaseMs: [0, -1, Number.NaN, '30s'],
      onUnroutable: ['ignore'],
      listeners: [{}, []],
      store: [{}, null],
      logger: [true, {}],
      retryPolicy: [() => 5],
      retryPolicyByType: [5, { A: 5 }],
    }
    for (const [name, values] of Object.entries(unfit)) {
      for (const value of values) {
        throws(make({ store, listeners, [name]: value }), {
          code: 'OUTBOX_INVALID_OPTION',
          message: new RegExp(name),
        })
      }
    }
    throws(make({ listeners }), { code: 'OUTBOX_INVALID_OPTION', message: /needs the option "store"/ })
    throws(make(undefined as never), { code: 'OUTBOX_INVALID_OPTION' })
  })

  it('refuses a pause without an event type or destination', async (test) => {
    const outbox = await Outbox.singleNode({ store: memoryStore(), listeners, logger: false }).start()
    test.after(() => outbox.close())
    for (const target of [
      {},
      { type: 'A' },
      { eventType: 5 },
      { eventType: 'A', destination: 'b' },
      'A',
      undefined,
    ]) {
      await rejects(outbox.pause(target as never), { name: 'OutboxError' })
      await rejects(outbox.resume(target as never), { name: 'OutboxError' })
    }
    deepEqual(await outbox.paused(), [])
  })

  it('refuses bad event definitions', () => {
    const define = defineEvent as (name: unknown, definition?: unknown) => unknown
    throws(() => define(''), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => define('A', { aggregate: 'Order' }), {
      code: 'OUTBOX_UNKNOWN_OPTION',
      message: /aggregateType/,
    })
    throws(() => define('A', { aggregateId: 'id' }), { code: 'OUTBOX_INVALID_OPTION', message: /a function/ })
    throws(() => define('A', { schema: {} }), { code: 'OUTBOX_INVALID_OPTION', message: /Standard Schema/ })
  })

  it('refuses to work before it is started', async () => {
    const outbox = Outbox.singleNode({ store, listeners })
    await rejects(outbox.write('A', 1), { code: 'OUTBOX_NOT_STARTED', message: /await outbox\.start\(\)/ })
    await rejects(
      outbox.transaction(async () => {}),
      { code: 'OUTBOX_NOT_STARTED' },
    )
  })
})

describe('idempotency', () => {
  onEveryStore(
    'a second write with the same key adds nothing and returns the first id',
    async (test, open, mode) => {
      const { outbox, listener, metrics } = await startOutbox(test, open(), { mode, hotQueueCapacity: 1 })
      const write = () =>
        outbox.transaction(() => outbox.write('Tested', 'once', { idempotencyKey: 'order-7' }))
      const first = await write()
      equal(await write(), first)
      equal(await write(), first)
      await metrics.until((seen) => seen.dispatchSuccess === 1)

      // The places that the duplicates had in the hot queue are free again.
      await writeTested(outbox, 'other')
      await metrics.until((seen) => seen.dispatchSuccess === 2)
      deepEqual(listener.payloads, ['once', 'other'])
      equal(metrics.hotEnqueued, 2)
    },
  )

  onEveryStore('a duplicate frees its place in the hot queue at once', async (test, open, mode) => {
    const { outbox, metrics } = await startOutbox(test, open(), { mode, hotQueueCapacity: 1 })
    const write = () =>
      outbox.transaction(() => outbox.write('Tested', 'once', { idempotencyKey: 'order-7' }))
    const first = await write()
    // Only now is there a place for the duplicate to take.
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(await write(), first)

    await writeTested(outbox, 'other')
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    equal(metrics.hotEnqueued, 2)
    equal(metrics.hotDropped, 0)
  })
})
