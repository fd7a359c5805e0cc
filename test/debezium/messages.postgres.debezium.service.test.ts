import { deepEqual, equal, ok } from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type pg from 'pg'
import type { RoutedMessage } from '../../examples/debezium/message-receiver.ts'
import { Outbox, type RoutingOptions } from '../../packages/sendoff/src/index.ts'
import { postgresStore } from '../../packages/sendoff/src/stores/postgres/index.ts'
import { debeziumRun, pageBlock, pageSettings, settingsOf } from './debezium-run.ts'

describe('messages of Debezium', () => {
  it('have the settings of the page', () => {
    const file = readFileSync(new URL('../../examples/debezium/outbox.properties', import.meta.url), 'utf8')
    deepEqual(pageSettings('## The connector'), settingsOf(file))
  })

  it('carry what the page says: time, headers, bytes, delays and destinations', async (t) => {
    const { outbox, pool, relay } = await debeziumRun(t, { routing })
    await pool.query(pageBlock('## The connector', 'sql'))
    await pool.query(pageBlock('## The time of an event', 'sql'))
    await pool.query(pageBlock('## Bytes', 'sql'))
    // The rights that the page demands.
    await pool.query('create role reader login replication; grant select on outbox_event to reader')
    const reader = { 'database.user': 'reader' }

    const occurredAt = new Date('2026-01-02T03:04:05.678Z')
    const write = (type: string, payload: unknown, options: object = {}) =>
      outbox.transaction(() => outbox.write(type, payload, { aggregateType: 'Order', ...options }))
    const early = await write('Early', { total: 42 }, { aggregateId: 'o-1', occurredAt, headers: { a: 'b' } })
    const bytes = await write('Bytes', new Uint8Array([0, 1, 255]), { aggregateId: 'o-2' })

    const [texts, binaries] = [new Messages(), new Messages()]
    await relay(texts.add, {
      ...pageSettings('## The time of an event'),
      ...pageSettings('## Bytes', 0),
      ...reader,
    })
    await relay(binaries.add, { ...pageSettings('## Bytes', 1), ...reader })

    // From the snapshot: both were written before a relay ran.
    const first = await texts.get(early)
    equal(first.topic, 'outbox.Order')
    equal(first.key, 'o-1')
    equal(first.value, '{"total":42}')
    equal(first.timestamp, occurredAt.getTime())
    deepEqual(JSON.parse(first.headers['headers']!), { a: 'b' })
    equal(first.headers['eventType'], 'Early')
    equal(first.headers['occurredAt'], occurredAt.toISOString())
    equal((await binaries.get(bytes)).base64, Buffer.from([0, 1, 255]).toString('base64'))

    // From the log.
    const delayed = await write('Delayed', 1, { deliverAfterMs: 3_600_000 })
    const availableAt = Date.parse((await texts.get(delayed)).headers['availableAt']!)
    ok(availableAt > Date.now() + 3_000_000)
    const routed = await write('Routed', 1)
    await texts.get(routed, 'mail')
    equal((await texts.get(routed, 'billing')).headers.id, routed)

    deepEqual(texts.types(), ['Delayed', 'Early', 'Routed'])
    deepEqual(binaries.types(), ['Bytes'])
  })

  const skip =
    process.env['SENDOFF_TEST_SCALE'] !== 'full' && 'only npm run test:full restarts relays so often'
  it('come after a purge, and although the slot is gone', { skip }, async (t) => {
    const { outbox, pool, relay } = await debeziumRun(t)
    await pool.query(pageBlock('## The connector', 'sql'))
    const write = (type: string) => outbox.transaction(() => outbox.write(type, 1))
    const messages = new Messages()
    const main = await relay(messages.add)
    await messages.get(await write('First'))

    // The purge empties the table, and sends nothing.
    await purgeAll(pool)

    // What it deletes while the relay is away is in the log, from the place on that the relay has stored.
    while (!existsSync(main.offsetsFile)) await messages.get(await write('First'))
    await main.stop()
    const purged = await Promise.all(Array.from({ length: 20 }, () => write('Purged')))
    await purgeAll(pool)
    const second = await relay(messages.add, { 'offset.storage.file.filename': main.offsetsFile })
    for (const id of purged) await messages.get(id)

    // Without that place, it reads the table, and the log from then on.
    await second.stop()
    await write('Lost')
    await purgeAll(pool)
    const kept = await write('Kept')
    const third = await relay(messages.add)
    await messages.get(kept)
    await messages.get(await write('Next'))

    // The slot is gone, as after a failover: the table still has the event.
    await third.kill()
    await dropSlot(pool, 'outbox')
    const unlogged = await write('WithoutSlot')
    await messages.get(unlogged)
    deepEqual(messages.types(), ['First', 'Kept', 'Next', 'Purged', 'WithoutSlot'])
  })
})

const routing: RoutingOptions = {
  version: 1,
  rules: [{ events: 'Routed', to: ['billing', 'mail'] }],
  destinations: { billing: {}, mail: {} },
}

/** Resolves when a process that purges by age has deleted every event. */
async function purgeAll(pool: pg.Pool): Promise<void> {
  const purged = Promise.withResolvers<void>()
  const purger = await Outbox.writerOnly({
    store: postgresStore({ client: pool }),
    purge: { ageMs: 1, onProgress: () => purged.resolve() },
    logger: false,
  }).start()
  await purged.promise
  await purger.close()
  equal((await pool.query('select from outbox_event')).rowCount, 0)
}

// A relay that has just started may hold the slot for a moment.
async function dropSlot(pool: pg.Pool, name: string): Promise<void> {
  const inUse = '55006'
  for (;;) {
    try {
      return void (await pool.query('select pg_drop_replication_slot($1)', [name]))
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== inUse) throw error
    }
  }
}

/** The messages that a relay has posted. */
class Messages {
  readonly #received: RoutedMessage[] = []
  #changed = Promise.withResolvers<void>()

  readonly add = async (message: RoutedMessage): Promise<void> => {
    this.#received.push(message)
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Resolves when the message of an event, and of a destination, has come. */
  async get(id: string, destination = ''): Promise<RoutedMessage> {
    for (;;) {
      const found = this.#received.find(
        ({ headers }) => headers.id === id && headers['destination'] === destination,
      )
      if (found !== undefined) return found
      await this.#changed.promise
    }
  }

  types(): readonly string[] {
    return [...new Set(this.#received.map(({ headers }) => headers['eventType']!))].toSorted()
  }
}
