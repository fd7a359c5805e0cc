import { deepEqual, equal, match } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { memberOf } from '../../../src/stores/redis/redis-keyspace.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'

const client = new Redis(process.env['REDIS_URL']!)
after(() => client.quit())

type Spoil = (key: (name: string) => string, member: string) => Promise<unknown>

const changes: Readonly<Record<string, Spoil>> = {
  'a text that is no JSON': (key, member) => client.hset(key('rows'), member, 'no JSON\n{}'),
  'a text without a payload': (key, member) => client.hset(key('rows'), member, 'no line'),
  'a line that says something else': (key, member) => client.hset(key('rows'), member, '[1,2,3]\n{}'),
  'no text': (key, member) => client.hdel(key('rows'), member),
  'a state that is none': (key, member) => client.hset(key('state'), member, 'garbage'),
  'no state': (key, member) => client.hdel(key('state'), member),
  'neither text nor state': async (key, member) => {
    await client.hdel(key('rows'), member)
    await client.hdel(key('state'), member)
  },
}

describe('redis store: rows that were changed by hand', () => {
  for (const mode of ['singleNode', 'multiNode', 'singleWriter'] as const) {
    it(`are set aside with a reason, and hold no other up: ${mode}`, async (t) => {
      const prefix = `unreadable-${randomUUID()}`
      const store = redisStore({ client, prefix })
      const spoils = Object.values(changes)
      const rows = sampleRows(20 + spoils.length)
      await store.migrate()
      await store.transaction((tx) => store.insert({ tx, rows, lease: { owner: 'writer', ms: 1_000 } }))
      const written = await store.people.query({ limit: 100 })
      for (const [index, spoil] of spoils.entries()) {
        await spoil((name) => `{${prefix}}:${name}`, memberOf(written[index]!.seq))
      }
      equal((await store.people.query({ limit: 100 })).length, rows.length)
      // The texts are then looked at as well.
      await store.controls.pause({ eventType: 'Another' })
      equal(await store.people.count({ eventType: rows[0]!.eventType }), 20 + 2)

      const metrics = new SignalMetrics()
      const outbox = await Outbox[mode]({
        store,
        listeners: new ListenerRegistry().registerDefault(() => {}),
        metrics,
        logger: false,
      }).start()
      t.after(() => outbox.close())
      await metrics.until((seen) => seen.dispatchDead === spoils.length && seen.dispatchSuccess === 20)

      const dead = await outbox.deadEvents.query()
      deepEqual(
        dead.map(({ seq }) => seq),
        written.slice(0, spoils.length).map(({ seq }) => seq),
      )
      for (const { lastError } of dead) match(lastError!, /cannot be read/)
      equal(await store.people.count({ status: [3] }), spoils.length)
      equal(await store.people.count({ status: [0, 2] }), 0)
      // Their states are sound again, and so are the texts of those that had lost nothing else.
      equal(await outbox.deadEvents.replayAll(), spoils.length)
      await metrics.until(
        (seen) => seen.dispatchDead === 2 * spoils.length - 2 && seen.dispatchSuccess === 22,
      )
      await store.purge({ limit: 100, anyOlderThanMs: 0 })
    })
  }
})
