import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { participantLock } from '../../../src/store.ts'
import { newStore, withClient } from './test-store.ts'

const vanished = { lock: participantLock('vanished'), token: 'vanished' }
const asker = { lock: participantLock('asker'), token: 'asker' }
const allPartitions = Array.from({ length: 256 }, (_, number) => number)

describe('postgres store: ending the part of somebody', () => {
  it('passes over whoever has a settlement under way, and ends it at the next look', async (t) => {
    const { store, pool, schema } = await newStore(t)
    const partitions = store.partitions!
    await store.locks.acquire({ ...vanished, ttlMs: 300 })
    await store.locks.acquire({ ...asker, ttlMs: 60_000 })
    await partitions.acquire(vanished, allPartitions)
    await withClient(pool, async (client) => {
      await client.query('begin')
      await client.query(`select 1 from "${schema}".outbox_event_lock where name = $1 for key share`, [
        vanished.lock,
      ])
      while ((await partitions.shares(asker))!.nextEndMs > 0) await delay(20)
      deepEqual((await partitions.shares(asker))!.participants.toSorted(), ['asker', 'vanished'])
      await client.query('commit')
    })

    const shares = (await partitions.shares(asker))!
    deepEqual(shares.participants, ['asker'])
    equal(shares.partitions.filter(({ owner }) => owner !== null).length, 0)
  })
})
