import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { ListenerRegistry, Outbox, type RoutingOptions, silentLogger } from '../../src/index.ts'
import type { RowId } from '../../src/store/index.ts'
import type { StoreKind } from '../fixtures/stores.ts'

const to = (version: number, destinations: readonly string[]): RoutingOptions => ({
  version,
  rules: [{ to: destinations }],
  destinations: { mail: {} },
})

type Mode = 'multiNode' | 'partitioned' | 'singleNode' | 'singleWriter'

/** Changes of a routing while processes write and deliver. */
export function testChangingRouting(kind: StoreKind, modes: readonly Mode[], leaseMs: number): void {
  for (const mode of modes) {
    it(`from one destination to two under load, and back: nothing is lost or repeated, ${kind.name}, ${mode}`, async (test) => {
      const open = await kind.open(test)
      const store = open()
      const received = new Set<string>()
      const repeated: string[] = []
      // Under load, a lock or a lease of this length may run out. The store then counts a loss until the row is settled.
      const isAfterLoss = async (id: RowId) => (await store.people.query({ ...id, limit: 1 }))[0]!.losses > 0
      const listeners = (destinations: readonly string[]) => {
        const registry = new ListenerRegistry()
        for (const destination of destinations) {
          registry.registerDefault(
            async (event, context) => {
              const { eventId } = event
              const { destination } = context
              const name = `${eventId}/${destination}`
              if (received.has(name) && !(await isAfterLoss({ eventId, destination }))) repeated.push(name)
              received.add(name)
              await new Promise((resolve) => setTimeout(resolve, 1))
            },
            { destination },
          )
        }
        return registry
      }
      const common = { logger: silentLogger, leaseMs, poller: { intervalMs: 20 } }
      const first = await Outbox[mode]({ ...common, store: open(), listeners: listeners(['']) }).start()
      // Where nothing wakes a process that only writes, it follows with its next heartbeat: too late for a test.
      const writer =
        store.wakeUps === undefined ? first : await Outbox.writerOnly({ store, logger: silentLogger }).start()
      let isOver = false
      const ids: string[] = []
      const writing = Promise.all(
        [first, writer].map(async (outbox, number) => {
          while (!isOver) {
            const orderingKey = `k-${(ids.length + number) % 5}`
            ids.push(await outbox.transaction(() => outbox.write('Any', ids.length, { orderingKey })))
            await new Promise((resolve) => setTimeout(resolve, 2))
          }
        }),
      )
      const until = async (count: number) => {
        while (ids.length < count) await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await until(40)
      const both = { ...common, listeners: listeners(['', 'mail']) }
      const second = await Outbox[mode]({ ...both, store: open(), routing: to(1, ['', 'mail']) }).start()
      // The first process follows the routing with its next heartbeat.
      const hasMail = async () =>
        (await store.people.query({ limit: 10_000 })).some(({ destination }) => destination === 'mail')
      while (!(await hasMail())) await until(ids.length + 1)
      await until(ids.length + 100)
      const third = await Outbox[mode]({ ...both, store: open(), routing: to(2, ['']) }).start()
      const isWayBack = async () =>
        (await store.people.query({ limit: 10_000 }))
          .slice(-20)
          .every(({ destination }) => destination === '')
      while (!(await isWayBack())) await until(ids.length + 10)
      await until(ids.length + 100)
      isOver = true
      await writing
      await first.close()
      const isPending = async () => (await store.people.count({ status: [0, 2] })) > 0
      for (let tries = 0; (await isPending()) && tries < 2_000; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      const rows = await store.people.query({ limit: 10_000 })
      for (const outbox of new Set([second, third, writer])) await outbox.close()

      deepEqual(repeated, [])
      deepEqual([...received].sort(), rows.map((row) => `${row.eventId}/${row.destination}`).sort())
      equal(ids.filter((id) => !received.has(`${id}/`)).length, 0)
    })
  }
}
