import { deepEqual, equal, match, ok, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import {
  type DefinedEvent,
  defineEvent,
  DispatchResult,
  type EventEnvelope,
  type EventMapping,
  fixedDelay,
  ListenerRegistry,
  type Logger,
  Outbox,
  OutboxError,
  type RoutingOptions,
  silentLogger,
} from '../../src/index.ts'
import { Routing } from '../../src/route/routing.ts'
import { EventStatus } from '../../src/store/event-status.ts'
import { memoryStore, type MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { onEveryStoreOnce, until } from '../fixtures/outbox-fixture.ts'

const modes = ['singleNode', 'multiNode', 'singleWriter', 'partitioned'] as const

const twoWays: RoutingOptions = {
  version: 1,
  destinations: { kafka: {}, mail: { retry: fixedDelay(1, { maxAttempts: 2 }) } },
  rules: [{ events: 'Order*', to: ['kafka', 'mail'] }],
}

interface Received {
  readonly destination: string
  readonly eventId: string
  readonly payload: unknown
}

/** Listeners that record what they get. `fail` makes a destination fail. */
function recording(
  fail: (destination: string) => boolean = () => false,
  destinations = ['', 'kafka', 'mail'],
) {
  const received: Received[] = []
  const listeners = new ListenerRegistry()
  for (const destination of destinations) {
    listeners.registerDefault(
      (event, context) => {
        if (fail(destination)) throw new Error(`${destination} is down`)
        received.push({ destination: context.destination, eventId: event.eventId, payload: event.payload })
      },
      { destination },
    )
  }
  return {
    listeners,
    received,
    to: (name: string) => received.filter(({ destination }) => destination === name),
  }
}

function outboxOf(
  mode: (typeof modes)[number],
  store: MemoryStore,
  options: { routing?: RoutingOptions; listeners?: ListenerRegistry; logger?: Logger } = {},
) {
  return Outbox[mode]({ store, logger: silentLogger, poller: { intervalMs: 20 }, ...options })
}

function warnings(): { logger: Logger; lines: string[] } {
  const lines: string[] = []
  return { lines, logger: { ...silentLogger, warn: (text: string) => void lines.push(text) } }
}

async function rowsOf(store: MemoryStore, status?: EventStatus) {
  const rows = await store.people.query({ limit: 1_000, ...(status !== undefined && { status: [status] }) })
  return rows.map(({ eventId, destination }) => `${eventId}/${destination}`)
}

for (const mode of modes) {
  describe(`destinations in ${mode}`, () => {
    it('an event has a row for each destination, delivered once to each, and others take the default', async () => {
      const store = memoryStore()
      const { listeners, received } = recording()
      const outbox = await outboxOf(mode, store, { routing: twoWays, listeners }).start()
      const [order, other] = await outbox.transaction(() =>
        outbox.writeAll([
          { type: { name: 'OrderPlaced' }, payload: 1, fields: { orderingKey: 'x' } },
          { type: { name: 'Paid' }, payload: 2 },
        ]),
      )
      await outbox.drain()
      await outbox.close()

      deepEqual(received.map(({ destination, eventId }) => `${eventId}/${destination}`).sort(), [
        `${order}/kafka`,
        `${order}/mail`,
        `${other}/`,
      ])
      deepEqual(await rowsOf(store, EventStatus.DONE), [`${order}/kafka`, `${order}/mail`, `${other}/`])
    })

    it('a destination that fails has its own attempts, and the others are done', async () => {
      const store = memoryStore()
      const { listeners, to } = recording((destination) => destination === 'mail')
      const outbox = await outboxOf(mode, store, { routing: twoWays, listeners }).start()
      const id = await outbox.transaction(() => outbox.write('OrderPlaced', 1, { orderingKey: 'x' }))
      const next = await outbox.transaction(() => outbox.write('OrderPaid', 1, { orderingKey: 'x' }))
      for (let tries = 0; (await outbox.deadEvents.count()) < 2 && tries < 500; tries++) {
        await outbox.drain()
        await new Promise((resolve) => setTimeout(resolve, 2))
      }

      deepEqual(
        to('kafka').map(({ eventId }) => eventId),
        [id, next],
      )
      const dead = await outbox.deadEvents.query()
      deepEqual(
        dead.map(({ destination, attempts }) => [destination, attempts]),
        [
          ['mail', 2],
          ['mail', 2],
        ],
      )
      await outbox.close()
    })

    it('the next version adds a destination for events that are written after it', async () => {
      const store = memoryStore()
      const { listeners, to } = recording(undefined, [''])
      const first = await outboxOf(mode, store, { listeners }).start()
      const before = await first.transaction(() => first.write('OrderPlaced', 1))
      await first.drain()
      await first.close()
      const routing = { ...twoWays, rules: [{ events: 'Order*', to: ['', 'mail'] }] }
      const second = outboxOf(mode, store, { routing, listeners: recording().listeners })
      await second.start()
      const after = await second.transaction(() => second.write('OrderPlaced', 1))
      await second.drain()
      await second.close()

      deepEqual(
        to('').map(({ eventId }) => eventId),
        [before],
      )
      deepEqual(await rowsOf(store), [`${before}/`, `${after}/`, `${after}/mail`])
    })
  })
}

describe('the routing of a table', () => {
  it('a process that only writes follows it from its start on', async () => {
    const store = memoryStore()
    const { listeners } = recording()
    const worker = await outboxOf('multiNode', store, { routing: twoWays, listeners }).start()
    const writer = await Outbox.writerOnly({ store, logger: silentLogger }).start()
    const id = await writer.transaction(() => writer.write('OrderPlaced', 1))
    await worker.drain()
    deepEqual(await rowsOf(store), [`${id}/kafka`, `${id}/mail`])
    await worker.close()
    await writer.close()
  })

  it('processes that run already follow it with their heartbeat, and warn if it is newer than their own', async (test) => {
    const time = fakeClock()
    const shared = memoryStore({ now: time.now })
    // Nothing wakes these processes.
    const { wakeUps: _, ...store } = { ...shared, close: async () => {} }
    const { logger, lines } = warnings()
    const common = { store, clock: time, logger: silentLogger }
    const writer = await Outbox.writerOnly(common).start()
    const older = await Outbox.writerOnly({ ...common, logger, routing: { ...twoWays, rules: [] } }).start()
    const newer = await Outbox.writerOnly({ ...common, routing: { ...twoWays, version: 2 } }).start()
    test.after(() => Promise.all([writer, older, newer].map((outbox) => outbox.close())))
    const destinations = async () => {
      const ids = await Promise.all(
        [writer, older].map((outbox) => outbox.transaction(() => outbox.write('OrderPlaced', 1))),
      )
      return (await rowsOf(shared)).flatMap((row) => {
        const [id, destination] = row.split('/')
        return ids.includes(id!) ? [destination] : []
      })
    }

    deepEqual(await destinations(), ['', ''])
    deepEqual(lines, [])
    await time.advance(24_000)
    deepEqual(await destinations(), ['kafka', 'mail', 'kafka', 'mail'])
    await time.advance(60_000)
    equal(lines.length, 1)
    match(lines[0]!, /version 2.*version 1/)
  })

  it('a lower version writes by the higher one, and warns', async () => {
    const store = memoryStore()
    await (await outboxOf('multiNode', store, { routing: { ...twoWays, version: 2 } }).start()).close()
    const { logger, lines } = warnings()
    const routing = { ...twoWays, rules: [] }
    const outbox = await outboxOf('multiNode', store, { routing, logger }).start()
    const id = await outbox.transaction(() => outbox.write('OrderPlaced', 1))

    deepEqual(await rowsOf(store), [`${id}/kafka`, `${id}/mail`])
    match(lines.join('\n'), /version 2.*version 1/)
    await outbox.close()
  })

  it('the same version with another content refuses to start', async () => {
    const store = memoryStore()
    await (await outboxOf('multiNode', store, { routing: twoWays }).start()).close()
    const outbox = outboxOf('multiNode', store, { routing: { ...twoWays, rules: [] } })
    await rejects(outbox.start(), {
      code: 'OUTBOX_ROUTING_CONFLICT',
      message: /with every change of its rules\. A new alias of their events is one\.$/,
    })
    const same = await outboxOf('multiNode', store, { routing: twoWays }).start()
    await same.close()
  })

  it('ordered refuses several destinations, of its own and of the table', async () => {
    const store = memoryStore()
    await rejects(Outbox.ordered({ store, routing: twoWays, logger: silentLogger }).start(), {
      code: 'OUTBOX_ROUTING_CONFLICT',
    })
    const writer = await Outbox.writerOnly({ store, routing: twoWays, logger: silentLogger }).start()
    await writer.close()
    await rejects(Outbox.ordered({ store, logger: silentLogger }).start(), {
      code: 'OUTBOX_ROUTING_CONFLICT',
    })
  })

  it('ordered refuses several destinations of others while it runs', async (test) => {
    const store = memoryStore()
    const ordered = await Outbox.ordered({ store, logger: silentLogger }).start()
    test.after(() => ordered.close())
    for (const mode of ['writerOnly', 'multiNode'] as const) {
      await rejects(Outbox[mode]({ store, routing: twoWays, logger: silentLogger }).start(), {
        code: 'OUTBOX_ROUTING_CONFLICT',
        message: /deliver in mode "ordered": \S+\. Stop them first/,
      })
    }
    equal(await store.routing.current(), null)
    const one: RoutingOptions = { version: 1, rules: [{ events: 'A', to: '' }], destinations: {} }
    await (await Outbox.writerOnly({ store, routing: one, logger: silentLogger }).start()).close()
  })

  it('ordered says once that the table has got several destinations, and goes on', async (test) => {
    const time = fakeClock()
    const store = memoryStore({ now: time.now })
    const errors: string[] = []
    const logger = { ...silentLogger, error: (text: string) => void errors.push(text) }
    const { listeners, received } = recording(undefined, [''])
    const ordered = await Outbox.ordered({ store, listeners, clock: time, logger }).start()
    test.after(() => ordered.close())
    await store.routing.publish(new Routing(twoWays).stored)
    await time.advance(120_000)
    await ordered.transaction(() => ordered.write('OrderPlaced', 1))
    await time.advance(1_000)

    equal(received.length, 1)
    equal(errors.length, 1)
    match(errors[0]!, /one destination, the empty one.*names "kafka", "mail"/)
  })

  it('a destination that is removed with rows pending warns, and keeps them', async () => {
    const store = memoryStore()
    const writer = await Outbox.writerOnly({ store, routing: twoWays, logger: silentLogger }).start()
    const id = await writer.transaction(() => writer.write('OrderPlaced', 1))
    await writer.close()
    const { logger, lines } = warnings()
    const { listeners, received } = recording(undefined, ['', 'kafka'])
    const routing: RoutingOptions = {
      version: 2,
      destinations: { kafka: {} },
      rules: [{ events: 'Order*', to: 'kafka' }],
    }
    const outbox = await outboxOf('multiNode', store, { routing, listeners, logger }).start()
    await outbox.drain()
    await outbox.close()

    match(lines.join('\n'), /no more events to "mail"/)
    deepEqual(
      received.map(({ destination }) => destination),
      ['kafka'],
    )
    deepEqual(await rowsOf(store, EventStatus.NEW), [`${id}/mail`])
  })

  for (const mode of modes) {
    it(`a process of ${mode} without the listeners of a destination leaves its rows alone`, async () => {
      const store = memoryStore()
      const writer = await Outbox.writerOnly({ store, routing: twoWays, logger: silentLogger }).start()
      const id = await writer.transaction(() => writer.write('OrderPlaced', 1, { orderingKey: 'x' }))
      const unaware = await outboxOf(mode, store, { listeners: recording(undefined, ['']).listeners }).start()
      const half = { routing: twoWays, listeners: recording(undefined, ['', 'kafka']).listeners }
      const partly = await outboxOf(mode, store, half).start()
      await unaware.drain()
      await partly.drain()

      deepEqual(await rowsOf(store, EventStatus.DEAD), [])
      equal((await store.people.query({ eventId: id, limit: 10 })).length, 2)
      for (const outbox of [writer, unaware, partly]) await outbox.close()
      const mail = await store.people.query({ status: [EventStatus.NEW], limit: 10 })
      ok(mail.some(({ destination }) => destination === 'mail'))
      deepEqual([...new Set(mail.map(({ attempts }) => attempts))], [0])
    })
  }
})

describe('rules', () => {
  async function deliver(
    routing: RoutingOptions,
    writes: readonly [string, unknown][],
    defined?: DefinedEvent<any, unknown>,
  ) {
    const store = memoryStore()
    const events: EventEnvelope[] = []
    const listener = (event: EventEnvelope) => void events.push(event)
    const listeners = new ListenerRegistry()
    if (defined === undefined) listeners.registerDefault(listener, { destination: 'kafka' })
    else listeners.register(defined, listener, { destination: 'kafka' })
    const outbox = await outboxOf('multiNode', store, { routing, listeners }).start()
    for (const [type, payload] of writes)
      await outbox.transaction(() => outbox.write(type, payload, { aggregateId: 'a-1' }))
    await outbox.drain()
    await outbox.close()
    return { store, events }
  }

  it('a filter that says no settles the row as DONE, and counts it apart', async () => {
    const routing: RoutingOptions = {
      version: 1,
      destinations: { kafka: {} },
      rules: [{ to: 'kafka', when: async ({ payload }) => (payload as number) > 1 }],
    }
    const { store, events } = await deliver(routing, [
      ['A', 1],
      ['B', 2],
    ])
    deepEqual(
      events.map(({ eventType }) => eventType),
      ['B'],
    )
    equal((await rowsOf(store, EventStatus.DONE)).length, 2)
    const statistics = await store.reports.statistics({ lastMs: 3_600_000, limit: 10 })
    deepEqual(statistics.map(({ eventType, destination, done }) => [eventType, destination, done]).sort(), [
      ['A', 'kafka/filtered', 1],
      ['B', 'kafka', 1],
    ])
  })

  it('a mapping changes payload, headers, message key and target, and never the ordering key', async () => {
    const routing: RoutingOptions = {
      version: 1,
      destinations: { kafka: {} },
      rules: [
        {
          events: 'A',
          to: 'kafka',
          map: ({ payload }) => ({
            payload: { was: payload },
            headers: { source: 'shop' },
            messageKey: 'm',
            target: 'orders',
          }),
        },
        { events: 'B', to: 'kafka', map: () => ({}) },
      ],
    }
    const { events } = await deliver(routing, [
      ['A', 1],
      ['B', 2],
    ])
    const seen = events.map(({ payload, headers, messageKey, target, orderingKey, payloadJson }) => ({
      payload,
      headers: { ...headers },
      messageKey,
      target,
      orderingKey,
      payloadJson,
    }))
    const orderingKey = '__GLOBAL__:a-1'
    deepEqual(seen, [
      {
        payload: { was: 1 },
        headers: { source: 'shop' },
        messageKey: 'm',
        target: 'orders',
        orderingKey,
        payloadJson: '{"was":1}',
      },
      { payload: 2, headers: {}, messageKey: orderingKey, target: undefined, orderingKey, payloadJson: '2' },
    ])
  })

  it('the rules of the stored name decide about a renamed event, and see it as its listener does', async () => {
    const { store, events } = await deliver(
      {
        version: 1,
        destinations: { kafka: {} },
        rules: [
          { events: 'OrderPlaced', to: 'kafka', map: ({ eventType }) => ({ target: `old ${eventType}` }) },
          { events: 'OrderSent', to: 'kafka', when: () => false },
          { events: 'OrderCreated', to: 'kafka', when: ({ headers }) => headers.vip === 'yes' },
        ],
      },
      [
        ['OrderPlaced', 1],
        ['OrderSent', 2],
        ['OrderCreated', 3],
      ],
      defineEvent('OrderCreated', { aliases: ['OrderPlaced', 'OrderSent'] }),
    )
    deepEqual(
      events.map(({ eventType, target, payload }) => [eventType, target, payload]),
      [['OrderCreated', 'old OrderCreated', 1]],
    )
    equal((await rowsOf(store, EventStatus.DONE)).length, 3)
  })

  it('a rule for a defined event sends its former names to its destination, too', async () => {
    const renamed = defineEvent('OrderCreated', { aliases: ['OrderPlaced'] })
    const { events } = await deliver(
      {
        version: 1,
        destinations: { kafka: {} },
        rules: [{ events: renamed, to: 'kafka', map: () => ({ target: 'orders' }) }],
      },
      [
        ['OrderPlaced', 1],
        ['OrderCreated', 2],
      ],
      renamed,
    )
    deepEqual(events.map(({ eventType, target, payload }) => [eventType, target, payload]).toSorted(), [
      ['OrderCreated', 'orders', 1],
      ['OrderCreated', 'orders', 2],
    ])
  })

  const Sent = defineEvent('Sent', {
    schema: z.object({
      at: z.iso.datetime().transform((at) => new Date(at)),
      vip: z.boolean().default(false),
    }),
  })

  it('a mapped payload goes through the schema of its listener, and keeps what else is mapped', async () => {
    const { events } = await deliver(
      {
        version: 1,
        destinations: { kafka: {} },
        rules: [
          {
            to: 'kafka',
            map: (event) => ({
              payload: { at: new Date((event.payload as { at: Date }).at.getTime() + 1) },
              target: 'sent',
              messageKey: 'm',
            }),
          },
        ],
      },
      [['Sent', { at: '2026-03-01T12:00:00Z', vip: true }]],
      Sent,
    )
    deepEqual(
      events.map(({ payload, target, messageKey }) => [payload, target, messageKey]),
      [[{ at: new Date('2026-03-01T12:00:00.001Z'), vip: false }, 'sent', 'm']],
    )
  })

  it('a mapped payload that does not fit the schema is a failed attempt, and a batch gets it as it is', async () => {
    for (const isBatch of [false, true]) {
      const outbox = outboxOf('multiNode', memoryStore(), {
        routing: {
          version: 1,
          destinations: { kafka: { maxAttempts: 1 } },
          rules: [{ to: 'kafka', map: () => ({ payload: { at: 'secret' } }) }],
        },
      })
      const got: unknown[] = []
      if (isBatch) {
        const listener = { onEvents: (events: readonly EventEnvelope[]) => void got.push(events[0]!.payload) }
        outbox.on(Sent, listener, { destination: 'kafka' })
      } else outbox.on(Sent, ({ payload }) => void got.push(payload), { destination: 'kafka' })
      await outbox.start()
      await outbox.transaction(() => outbox.write(Sent, { at: '2026-03-01T12:00:00Z' }))
      await outbox.drain()
      const [dead] = await outbox.deadEvents.query()
      await outbox.close()
      deepEqual(got, isBatch ? [{ at: 'secret' }] : [])
      if (isBatch) equal(dead, undefined)
      else
        match(
          dead!.lastError!,
          /mapping of event \S+ does not fit the schema of its listener: at: .*by name\.$/,
        )
    }
  })

  it('mapped headers go over those of the event, and undefined removes one', async () => {
    const listeners = new ListenerRegistry()
    const seen: unknown[] = []
    listeners.registerDefault(({ headers }) => void seen.push({ ...headers }), { destination: 'kafka' })
    const routing: RoutingOptions = {
      version: 1,
      destinations: { kafka: {} },
      rules: [{ to: 'kafka', map: () => ({ headers: { source: 'shop', tenant: undefined } }) }],
    }
    const outbox = await outboxOf('multiNode', memoryStore(), { routing, listeners }).start()
    const headers = { traceparent: '00-4bf9-00f0-01', tenant: 'acme', source: 'old' }
    await outbox.transaction(() => outbox.write('A', 1, { headers }))
    await outbox.drain()
    await outbox.close()
    deepEqual(seen, [{ traceparent: '00-4bf9-00f0-01', source: 'shop' }])
  })

  it('of several rules for a destination, the first that says yes maps', async () => {
    const routing: RoutingOptions = {
      version: 1,
      destinations: { kafka: {} },
      rules: [
        { events: 'A*', to: 'kafka', when: ({ payload }) => payload === 1, map: () => ({ target: 'one' }) },
        { events: '*', to: 'kafka', map: () => ({ target: 'rest' }) },
      ],
    }
    const { events } = await deliver(routing, [
      ['A', 1],
      ['A', 2],
    ])
    deepEqual(
      events.map(({ target }) => target),
      ['one', 'rest'],
    )
  })

  const failing: Record<string, [map: () => unknown, error: RegExp]> = {
    throws: [
      () => {
        throw new Error('no map')
      },
      /no map/,
    ],
    'returns nothing': [() => undefined, /has to be an object, not undefined\.$/],
    'returns a payload that is not JSON': [() => ({ payload: 1n }), /has a payload that cannot be written/],
    'returns bad headers': [() => ({ headers: { a: 1 } }), /needs a string as header "a", not 1\.$/],
    'returns null as headers': [() => ({ headers: null }), /needs an object of strings as headers, not null/],
    'returns too many headers': [() => ({ headers: { a: 'x'.repeat(65_536) } }), /more than 65536 bytes/],
    'returns a number as its target': [() => ({ target: 1 }), /needs a string as target, not 1\.$/],
    'returns what no mapping has': [() => ({ topic: 'x' }), /has no option "topic"/],
  }
  for (const [name, [map, error]] of Object.entries(failing)) {
    it(`a mapping that ${name} is a failed attempt of its destination alone`, async () => {
      const store = memoryStore()
      const { listeners, received } = recording()
      const routing: RoutingOptions = {
        version: 1,
        destinations: { kafka: {}, mail: { maxAttempts: 1 } },
        rules: [{ to: 'kafka' }, { to: 'mail', map: map as () => EventMapping }],
      }
      const outbox = await outboxOf('multiNode', store, { routing, listeners }).start()
      await outbox.transaction(() => outbox.write('A', 1))
      await outbox.drain()
      const dead = await outbox.deadEvents.query()
      await outbox.close()
      deepEqual(
        dead.map(({ destination, attempts }) => [destination, attempts]),
        [['mail', 1]],
      )
      match(dead[0]!.lastError!, error)
      if (name !== 'throws') match(dead[0]!.lastError!, /The mapping of event /)
      deepEqual(
        received.map(({ destination }) => destination),
        ['kafka'],
      )
    })
  }
})

describe('a replay', () => {
  it('of one destination leaves the others untouched, and without one is about all DEAD rows', async () => {
    const store = memoryStore()
    const { listeners } = recording(() => true)
    const routing = { ...twoWays, destinations: { kafka: { maxAttempts: 1 }, mail: { maxAttempts: 1 } } }
    const outbox = await outboxOf('multiNode', store, { routing, listeners }).start()
    const id = await outbox.transaction(() => outbox.write('OrderPlaced', 1))
    await outbox.drain()
    await outbox.close()
    const rows = () => store.people.query({ eventId: id, limit: 10 })
    const [, mail] = await rows()
    const idle = Outbox.writerOnly({ store, logger: silentLogger })
    equal(await idle.deadEvents.replay(id, 'kafka'), true)
    deepEqual(
      (await rows()).map(({ status }) => status),
      [EventStatus.NEW, EventStatus.DEAD],
    )
    deepEqual((await rows())[1], mail)

    await store.claim({ lease: { owner: 'x', ms: 1_000 }, limit: 1 }).then(([row]) =>
      store.settle({
        settlements: [{ row: row!, outcome: { kind: 'dead', failure: { error: 'x', counted: true } } }],
      }),
    )
    equal(await idle.deadEvents.replay(id), true)
    deepEqual(
      (await rows()).map(({ status }) => status),
      [EventStatus.NEW, EventStatus.NEW],
    )
    equal(await idle.deadEvents.replay(id), false)
  })
})

onEveryStoreOnce(
  'a key that is blocked, parked, retried or skipped for one destination goes on for the other',
  async (test, open) => {
    let isDown = true
    const { listeners, to } = recording((destination) => isDown && destination === 'mail')
    const routing = { ...twoWays, destinations: { kafka: {}, mail: { maxAttempts: 1 } } }
    const outbox = await Outbox.partitioned({
      store: open(),
      routing,
      listeners,
      logger: silentLogger,
      onKeyFailure: 'block',
      poller: { intervalMs: 20 },
    }).start()
    test.after(() => outbox.close())
    const write = () => outbox.transaction(() => outbox.write('OrderPlaced', null, { orderingKey: 'a' }))
    const got = (destination: string) => to(destination).map(({ eventId }) => eventId)
    const keys = outbox.blockedKeys
    const heads = async (destination: string) =>
      (await keys.query({ destination })).map(({ head, waiting, isParked }) => [
        head?.eventId,
        head?.blockedAt != null,
        waiting,
        isParked,
      ])

    const ids = [await write(), await write(), await write()]
    await until(() => got('kafka').length === 3)
    await until(async () => (await heads('mail'))[0]?.[1] === true)
    deepEqual(await heads('mail'), [[ids[0], true, 2, false]])
    deepEqual([await heads('kafka'), await heads('')], [[], []])
    deepEqual([await keys.retry('a', 'kafka'), await keys.skip('a', 'no', 'kafka')], [false, false])

    equal(await keys.skip('a', 'Known to be wrong.', 'mail'), true)
    await until(async () => (await heads('mail'))[0]?.[0] === ids[1])
    await until(async () => (await heads('mail'))[0]?.[1] === true)
    isDown = false
    equal(await keys.retry('a', 'mail'), true)
    await until(() => got('mail').length === 2)

    await keys.park('a', 'kafka')
    ids.push(await write())
    await until(() => got('mail').length === 3)
    await outbox.drain()
    deepEqual([got('kafka'), got('mail')], [ids.slice(0, 3), ids.slice(1)])
    await keys.unpark('a', 'kafka')
    await until(() => got('kafka').length === 4)
    deepEqual(got('kafka'), ids)
    deepEqual(
      (await outbox.deadEvents.query()).map(({ eventId, destination }) => [eventId, destination]),
      [[ids[0], 'mail']],
    )
  },
)

describe('the circuit breaker of a destination', () => {
  for (const mode of ['multiNode', 'singleNode', 'partitioned'] as const) {
    it(`defers its events in ${mode} without counting attempts, and lets them through again`, async () => {
      const store = memoryStore()
      let isDown = true
      const { listeners, to } = recording((destination) => isDown && destination === 'mail')
      const routing: RoutingOptions = {
        ...twoWays,
        destinations: {
          kafka: {},
          mail: {
            concurrency: 1,
            retry: fixedDelay(1),
            circuitBreaker: { minimumCalls: 2, coolDownMs: 30 },
          },
        },
      }
      const outbox = await outboxOf(mode, store, { routing, listeners }).start()
      for (let index = 0; index < 20; index++)
        await outbox.transaction(() => outbox.write('OrderPlaced', index, { orderingKey: `k-${index}` }))
      while (to('kafka').length < 20) await outbox.drain()
      const waiting = await store.people.query({ status: [EventStatus.NEW, EventStatus.RETRY], limit: 100 })
      equal(waiting.length, 20)
      const tried = waiting.reduce((sum, { attempts }) => sum + attempts, 0)
      ok(tried < 20, `${tried} attempts`)

      isDown = false
      for (let tries = 0; to('mail').length < 20 && tries < 2_000; tries++) {
        await outbox.drain()
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      equal(to('mail').length, 20)
      await outbox.close()
    })
  }
})

describe('bad input', () => {
  const refused: Record<string, [options: unknown, code: string]> = {
    'an unknown destination': [{ ...twoWays, rules: [{ to: 'kafak' }] }, 'OUTBOX_UNKNOWN_DESTINATION'],
    'an unknown default': [{ ...twoWays, default: 'nowhere' }, 'OUTBOX_UNKNOWN_DESTINATION'],
    'a duplicate rule': [
      {
        ...twoWays,
        rules: [
          { events: 'A', to: 'kafka' },
          { events: ['B', 'A'], to: ['mail', 'kafka'] },
        ],
      },
      'OUTBOX_DUPLICATE_RULE',
    ],
    'a name that is too long': [
      { ...twoWays, destinations: { ...twoWays.destinations, ['x'.repeat(51)]: {} } },
      'OUTBOX_INVALID_OPTION',
    ],
    'a name with a slash': [
      { ...twoWays, destinations: { ...twoWays.destinations, 'a/b': {} } },
      'OUTBOX_INVALID_OPTION',
    ],
    'a rule without a destination': [{ ...twoWays, rules: [{ to: [] }] }, 'OUTBOX_INVALID_OPTION'],
    'a rule without "to"': [{ ...twoWays, rules: [{}] }, 'OUTBOX_INVALID_OPTION'],
    'a type that is too long': [
      { ...twoWays, rules: [{ events: 'x'.repeat(129), to: 'kafka' }] },
      'OUTBOX_INVALID_OPTION',
    ],
    'version 0': [{ ...twoWays, version: 0 }, 'OUTBOX_INVALID_OPTION'],
    'no version': [{ rules: [], destinations: {} }, 'OUTBOX_INVALID_OPTION'],
    'an unknown setting of a destination': [
      { ...twoWays, destinations: { kafka: { workers: 1 }, mail: {} } },
      'OUTBOX_UNKNOWN_OPTION',
    ],
  }
  for (const [name, [routing, code]] of Object.entries(refused)) {
    it(`${name} is refused`, () => {
      throws(
        () => Outbox.multiNode({ store: memoryStore(), routing: routing as RoutingOptions }),
        (error) => error instanceof OutboxError && error.code === code,
      )
    })
  }

  const texts: Record<string, [options: unknown, text: RegExp]> = {
    'a breaker that is true': [
      { ...twoWays, destinations: { kafka: { circuitBreaker: true }, mail: {} } },
      /"circuitBreaker" of destination "kafka" must be an object, not true\.$/,
    ],
    'a routing that is null': [null, /"routing" of .* must be an object, not null\.$/],
    'no type': [
      { ...twoWays, rules: [{ events: [], to: 'kafka' }] },
      /"events" of rule 1 of routing must be at least one type of event, not an empty array\.$/,
    ],
    'a long type': [
      { ...twoWays, rules: [{ to: 'kafka' }, { events: 'x'.repeat(129), to: 'kafka' }] },
      /^Rule 2 of the routing has a eventType of 129 characters; at most 128 are stored\.$/,
    ],
    'a long aggregate type': [
      { ...twoWays, rules: [{ aggregateType: 'x'.repeat(65), to: 'kafka' }] },
      /^Rule 1 of the routing has a aggregateType of 65 characters; at most 64 are stored\.$/,
    ],
    '51 named destinations': [
      { ...twoWays, rules: [], destinations: named(51) },
      /^The routing names 51 destinations; at most 50 are possible\.$/,
    ],
  }
  for (const [name, [routing, text]] of Object.entries(texts)) {
    it(`${name} is refused with a text that says so`, () => {
      throws(() => Outbox.multiNode({ store: memoryStore(), routing: routing as RoutingOptions }), {
        message: text,
      })
    })
  }

  it('50 named destinations are possible beside the empty one, and attempts without end', () => {
    const { destinations } = new Routing({
      version: 1,
      rules: [],
      destinations: { ...named(50), '': { maxAttempts: Infinity } },
    })
    equal(destinations.size, 51)
  })

  it('a listener for a destination that the routing does not name is refused', async () => {
    const listeners = new ListenerRegistry().registerDefault(() => DispatchResult.done(), {
      destination: 'mial',
    })
    await rejects(outboxOf('multiNode', memoryStore(), { routing: twoWays, listeners }).start(), {
      code: 'OUTBOX_UNKNOWN_DESTINATION',
      message: /Did you mean "mail"/,
    })
    await rejects(outboxOf('multiNode', memoryStore(), { listeners }).start(), {
      code: 'OUTBOX_UNKNOWN_DESTINATION',
    })
  })

  it('a pause of a destination that no routing names holds, and warns', async (test) => {
    const store = memoryStore()
    store.close = async () => {}
    const worker = await outboxOf('multiNode', store, { routing: twoWays }).start()
    const { logger, lines } = warnings()
    const writer = await Outbox.writerOnly({ store, logger }).start()
    test.after(() => Promise.all([worker.close(), writer.close()]))
    await writer.pause({ destination: 'mail' })
    deepEqual(lines, [])
    await writer.pause({ destination: 'mial' })

    match(lines.join('\n'), /^Destination "mial" is paused, but .* Did you mean "mail"\?$/)
    deepEqual(await writer.paused(), [{ destination: 'mail' }, { destination: 'mial' }])
  })

  it('one listener per aggregate type, event type and destination', () => {
    const listeners = new ListenerRegistry()
      .register('A', () => {})
      .register('A', () => {}, { destination: 'kafka' })
    throws(() => listeners.register('A', () => {}, { destination: 'kafka' }), {
      code: 'OUTBOX_DUPLICATE_LISTENER',
    })
  })
})

function named(count: number): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`d-${index}`, {}]))
}
