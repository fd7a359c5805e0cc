import { deepEqual, equal, rejects } from 'node:assert/strict'
import { it } from 'node:test'
import { outboxAdmin } from '../../src/admin/index.ts'
import { ListenerRegistry, Outbox, type RoutingOptions, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'

const routing: RoutingOptions = {
  version: 1,
  destinations: {
    kafka: { retry: { computeDelayMs: () => 1, maxAttempts: Infinity } },
    mail: { maxAttempts: 1, concurrency: 2, timeoutMs: 20_000, circuitBreaker: {} },
  },
  rules: [{ to: ['kafka', 'mail'] }],
}

function listeners(): ListenerRegistry {
  return new ListenerRegistry()
    .registerDefault(() => {}, { destination: 'kafka' })
    .registerDefault(
      () => {
        throw new TypeError('no')
      },
      { destination: 'mail' },
    )
}

it('an operator sees each destination with its events, errors, pause, breakers and limits', async () => {
  const store = memoryStore()
  const admin = outboxAdmin({ store, actor: 'Ann' })
  deepEqual(
    (await admin.destinations()).destinations.map(({ destination, isRouted }) => [destination, isRouted]),
    [['', true]],
  )
  const outbox = await Outbox.multiNode({
    store,
    routing,
    listeners: listeners(),
    workerCount: 3,
    logger: silentLogger,
  }).start()
  await outbox.transaction(() => outbox.write('Placed', 1))
  await outbox.drain()
  await admin.pause({ destination: 'mail' })
  await store.reports.report({
    id: 'x',
    report: {} as never,
    statistics: [
      {
        minute: Math.floor(Date.now() / 60_000) * 60_000,
        eventType: 'Placed',
        destination: 'kafka',
        done: 5,
        failed: 0,
        dead: 0,
        deferred: 0,
        hot: 0,
        listenerMs: 1,
        listenerBuckets: '',
        deliveryBuckets: '',
      },
    ],
  })
  const { routingVersion, destinations } = await admin.destinations()
  equal(routingVersion, 1)
  deepEqual(
    destinations.map((each) => [each.destination, each.isRouted, each.isPaused, each.dead.count]),
    [
      ['', true, false, 0],
      ['kafka', true, false, 0],
      ['mail', true, true, 1],
    ],
  )
  deepEqual(destinations[2]!.errors, [{ errorClass: 'TypeError', count: 1 }])
  equal(destinations[1]!.perMinute.done, 1)
  equal(typeof destinations[1]!.lastSuccessAt, 'number')
  const queues = { hot: 0, cold: 0 }
  const known = { hasListener: true, queues }
  deepEqual(
    destinations.map(({ processes }) => processes.map(({ id: _, ...each }) => each)),
    [
      [{ ...known, hasListener: false, circuitBreaker: null, limits: limits(3, 300_000, 10) }],
      [{ ...known, circuitBreaker: null, limits: limits(3, 300_000, null) }],
      [{ ...known, circuitBreaker: 'closed', limits: limits(2, 20_000, 1) }],
    ],
  )
  await outbox.close()
})

it('old events are copied to a new destination on purpose, once each', async () => {
  const store = memoryStore()
  const before = await Outbox.writerOnly({ store, logger: silentLogger }).start()
  const ids = await before.transaction(() =>
    before.writeAll([
      { type: { name: 'Placed' }, payload: { a: 1 }, fields: { orderingKey: 'x' } },
      { type: { name: 'Paid' }, payload: 2 },
      { type: { name: 'Placed' }, payload: 3 },
    ]),
  )
  await before.close()
  const admin = outboxAdmin({ store, actor: 'Ann' })
  await rejects(admin.copy({}, { to: 'mail' }), {
    code: 'OUTBOX_UNKNOWN_DESTINATION',
    message:
      /no rule of the routing of the table sends events to it\..* Name it in "to" of a rule or in "default"/,
  })
  const writer = await Outbox.writerOnly({ store, routing, logger: silentLogger }).start()
  equal(await admin.copy({ eventType: 'Placed' }, { to: 'mail' }), 2)
  equal(await admin.copy({ eventType: 'Placed' }, { to: 'mail' }), 0)
  const rows = await store.people.query({ limit: 100 })
  deepEqual(
    rows.map(({ eventId, destination }) => [eventId, destination]),
    [...ids.map((id) => [id, '']), [ids[0], 'mail'], [ids[2], 'mail']],
  )
  const [original, copy] = await store.people.query({ eventId: ids[0]!, limit: 10 })
  deepEqual(
    [copy!.payload, copy!.orderingKey, copy!.occurredAt],
    [original!.payload, 'x', original!.occurredAt],
  )
  equal((await admin.audit.list()).entries.filter(({ action }) => action === 'copy').length, 1)
  await writer.close()
})

function limits(concurrency: number, timeoutMs: number, maxAttempts: number | null) {
  return { concurrency, timeoutMs, maxAttempts }
}
