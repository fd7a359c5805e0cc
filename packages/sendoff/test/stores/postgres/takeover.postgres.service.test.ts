import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OrderedRow, OwnerFence, Settlement, StoredRow } from '../../../src/store/index.ts'
import { participantLock } from '../../../src/store/index.ts'
import { newStore, type PgStore, processOf, waitingFor, withClient, write } from './test-store.ts'

const all = Array.from({ length: 256 }, (_, index) => index)

describe('postgres store: partitions that change hands', () => {
  it('a partition is released when its settlements under way are through', async (t) => {
    const { store, pool, table } = await newStore(t)
    const owner = await takePart(store, 'first')
    const rows = await readAllPartitions(store, owner)
    await withClient(pool, async (other) => {
      await other.query(`begin; select from ${table} where event_id = '${rows[1]!.eventId}' for update`)
      const settled = store.settle({ settlements: rows.map(doneAtFirstEpoch), owner })
      const settling = await waitingFor(pool, processOf(other))
      const released = store.partitions.release({
        owner,
        partitions: all.map((partition) => ({ partition, epoch: 1 })),
      })
      await waitingFor(pool, settling)
      await other.query('rollback')

      deepEqual(await settled, [])
      await released
    })
    equal((await store.partitions.acquire({ owner, partitions: all })).length, 256)
  })

  it('rows of several epochs are settled together, each by that of its partition', async (t) => {
    const { store } = await newStore(t)
    const owner = await takePart(store, 'first')
    await store.partitions.acquire({ owner, partitions: [1, 2] })
    await store.partitions.release({ owner, partitions: [{ partition: 1, epoch: 1 }] })
    await store.partitions.acquire({ owner, partitions: [1] })
    for (const isKnown of [true, false]) {
      const rows = await Promise.all([1, 2].map((partition) => writeTo(store, partition)))
      const batch = (epochs: readonly [number, number]) =>
        rows.map(({ partitionNo, ...row }, index): Settlement => {
          const partition = isKnown ? { partitionNo } : {}
          return { row: { ...row, ...partition, epoch: epochs[index] }, outcome: { kind: 'done' } }
        })

      equal((await store.settle({ settlements: batch([1, 2]), owner })).length, 2)
      equal((await store.settle({ settlements: batch([1, 1]), owner })).length, 1)
      const [left] = batch([2, 1])
      deepEqual(await store.settle({ settlements: batch([2, 1]), owner }), [batch([2, 1])[1]])
      equal((await store.settle({ settlements: [left!], owner })).length, 1, 'it is settled')
    }
  })

  it('a partition is not the owner’s at an epoch that it never had', async (t) => {
    const { store } = await newStore(t)
    const owner = await takePart(store, 'first')
    const row = { ...(await writeTo(store, 3)), epoch: 0 }
    const failure = { error: 'Error: no', counted: true }

    equal((await store.settle({ settlements: [{ row, outcome: { kind: 'done' } }], owner })).length, 1)
    equal(
      (await store.settle({ settlements: [{ row, outcome: { kind: 'dead', failure } }], owner })).length,
      1,
    )
  })
})

async function takePart(store: PgStore, token: string, ttlMs = 30_000): Promise<OwnerFence> {
  const owner = { lock: participantLock(token), token }
  equal(await store.locks.acquire({ ...owner, ttlMs }), true)
  return owner
}

async function writeTo(store: PgStore, partitionNo: number): Promise<StoredRow> {
  const [row] = await write(store, 1, { orderingKey: `key of ${partitionNo}`, partitionNo })
  return (await store.people.query({ eventId: row!.eventId, limit: 1 }))[0]!
}

/** Writes two rows without a key and reads them as the owner of all partitions. */
async function readAllPartitions(store: PgStore, owner: OwnerFence): Promise<readonly OrderedRow[]> {
  await store.partitions.acquire({ owner, partitions: all })
  await write(store, 2)
  const bounds = { window: 10, limit: 10, perKey: 1 }
  const answer = await store.lanes.read({ owner, partitions: all, keys: [], except: [], ...bounds })
  return answer!.rows
}

function doneAtFirstEpoch(row: OrderedRow): Settlement {
  return { row: { ...row, epoch: 1 }, outcome: { kind: 'done' } }
}
