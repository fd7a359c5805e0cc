import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'
import { newStore, write } from './test-store.ts'

// What a row can be changed to by hand, and what is said of it then; nothing where it is delivered all the same.
const changes: Readonly<Record<string, RegExp | undefined>> = {
  "occurred_at = 'infinity'": /cannot be read: the time it occurred at/,
  "occurred_at = '-infinity'": /cannot be read: the time it occurred at/,
  "occurred_at = '200000-01-01'": undefined,
  "occurred_at = '290000-01-01'": /cannot be read: the time it occurred at/,
  'payload = null': /cannot be read: it has no payload/,
  "headers = '[]'": /headers of event .* cannot be read/,
  "headers = '5'": /headers of event .* cannot be read/,
  "available_at = '-infinity'": undefined,
  "created_at = 'infinity'": undefined,
  "created_at = '-infinity'": undefined,
}

describe('postgres store: rows that were changed by hand', () => {
  for (const mode of ['singleNode', 'multiNode', 'singleWriter', 'ordered', 'partitioned'] as const) {
    it(`are set aside with a reason, and hold no other up: ${mode}`, async (t) => {
      const { store, pool, table } = await newStore(t)
      const rows = await write(store, 20 + Object.keys(changes).length)
      for (const [index, change] of Object.keys(changes).entries()) {
        await pool.query(`update ${table} set ${change} where event_id = $1`, [rows[index]!.eventId])
      }
      // This row waits for ever, and holds up no other.
      const [endless] = await write(store, 1)
      await pool.query(`update ${table} set available_at = 'infinity', deliveries = 1 where event_id = $1`, [
        endless!.eventId,
      ])

      const metrics = new SignalMetrics()
      const delivered = new Set<string>()
      const outbox = await Outbox[mode]({
        store,
        listeners: new ListenerRegistry().registerDefault(({ eventId }) => void delivered.add(eventId)),
        metrics,
        logger: false,
      }).start()
      t.after(() => outbox.close())
      const refused = Object.values(changes).filter((reason) => reason !== undefined)
      await metrics.until(
        (seen) =>
          seen.dispatchDead === refused.length && seen.dispatchSuccess === rows.length - refused.length,
      )

      const dead = await outbox.deadEvents.query()
      deepEqual(
        dead.map(({ eventId }) => eventId),
        rows.filter(({ eventId }) => !delivered.has(eventId)).map(({ eventId }) => eventId),
      )
      dead.forEach((row, index) => match(row.lastError!, refused[index]!))
      const [waiting] = await store.people.query({ status: [0], limit: 5 })
      equal(waiting!.eventId, endless!.eventId)
    })
  }

  it('are read again once they are mended and replayed', async (t) => {
    const { store, pool, table } = await newStore(t)
    const [row] = await write(store, 1)
    await pool.query(`update ${table} set occurred_at = 'infinity'`)
    const metrics = new SignalMetrics()
    const outbox = await Outbox.multiNode({
      store,
      listeners: new ListenerRegistry().registerDefault(() => {}),
      metrics,
      logger: false,
    }).start()
    t.after(() => outbox.close())
    await metrics.until((seen) => seen.dispatchDead === 1)

    await pool.query(`update ${table} set occurred_at = now()`)
    equal(await outbox.deadEvents.replay(row!.eventId), true)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
  })
})
