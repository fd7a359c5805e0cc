import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { EventEnvelope } from '../../event/event-envelope.ts'
import { JsonCodec } from '../../event/json-codec.ts'
import { EventStatus } from '../../store/event-status.ts'
import type { Row, RowId } from '../../store/index.ts'
import type { PartCheck, StoreCheckContext } from '../store-check.ts'
import { claimAll, eventIds, insertRows, poll, pollOwner, replay, settleOne } from './check-steps.ts'
import { readLanes, takePart } from './lane-steps.ts'
import { sampleRow } from './sample-rows.ts'

export const unreadableChecks: readonly PartCheck[] = [
  {
    name: 'unreadable: a claim returns a row that was spoiled by hand along with the others',
    needsSpoiledRow: true,
    async run(context) {
      const sound = await soundAndSpoiled(context)

      assertOneSpoiled(await claimAll(context.store, 'a'), sound)
    },
  },
  {
    name: 'unreadable: a poll by an owner returns it too, and so does the claim of what a vanished holder left',
    needsSpoiledRow: true,
    async run(context) {
      const { store, wait } = context
      const sound = await soundAndSpoiled(context)
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      assertOneSpoiled(await poll(store), sound)

      await claimAll(store, 'vanished', 20)
      await wait(30)
      const left = await poll(store)
      assertOneSpoiled(left, sound)
      assertOneSpoiled(await store.claim({ lease: { owner: 'b', ms: 30_000 }, limit: 10, rows: left }), sound)
    },
  },
  {
    name: 'unreadable: the reads of lanes return it too',
    needs: ['lanes'],
    needsSpoiledRow: true,
    async run(context) {
      const sound = await soundAndSpoiled(context)
      const { store } = context
      const owner = await takePart(store, 'a')
      assertOneSpoiled((await readLanes(store, owner, {}))!.rows, sound)
      assertOneSpoiled((await store.lanes.readAll({ owner, limit: 10 }))!, sound)
    },
  },
  {
    name: 'unreadable: operators see the row, before and after it is settled as DEAD, and can replay it',
    needs: ['people', 'actions'],
    needsSpoiledRow: true,
    async run(context) {
      const { store } = context
      await soundAndSpoiled(context)
      equal((await store.people.query({ limit: 10 })).length, 3)
      equal((await store.people.query({ status: [EventStatus.NEW], limit: 10 })).length, 3)
      const spoiled = (await claimAll(store, 'a')).find(isSpoiled)!
      await settleOne(store, spoiled, {
        kind: 'dead',
        failure: { error: 'PayloadParseError: unreadable', counted: false },
      })

      const [dead] = await store.people.query({ status: [EventStatus.DEAD], limit: 10 })
      equal(dead!.lastError, 'PayloadParseError: unreadable')
      equal(dead!.seq, spoiled.seq)
      equal((await store.people.attempts(spoiled)).length, 1)
      equal(await replay(store, [dead!]), 1)
      ok((await claimAll(store, 'a')).every(isSpoiled))
    },
  },
  {
    name: 'unreadable: an owner settles a spoiled row that it read without a claim',
    needs: ['people'],
    needsSpoiledRow: true,
    async run(context) {
      const { store } = context
      await soundAndSpoiled(context)
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const row = (await poll(store)).find(isSpoiled)!
      const failure = { error: 'unreadable', counted: false }

      deepEqual(
        await store.settle({ settlements: [{ row, outcome: { kind: 'dead', failure } }], owner: pollOwner }),
        [],
      )
      equal((await poll(store)).length, 2)
      equal(await store.people.count({ status: [EventStatus.DEAD] }), 1)
    },
  },
]

/** Writes three rows of different keys, spoils the second, and returns the others. */
async function soundAndSpoiled<Tx>({ store, spoil }: StoreCheckContext<Tx>): Promise<readonly RowId[]> {
  ok(spoil, 'this check needs a row that was changed by hand')
  const rows = ['a', 'b', 'c'].map((orderingKey, partitionNo) => sampleRow({ orderingKey, partitionNo }))
  await insertRows(store, rows)
  await spoil(rows[1]!)
  return [rows[0]!, rows[2]!]
}

function assertOneSpoiled(rows: readonly Row[], sound: readonly RowId[]): void {
  equal(rows.length, 3)
  deepEqual(eventIds(rows.filter((row) => !isSpoiled(row))), eventIds(sound))
  throws(() => EventEnvelope.stored(rows.find(isSpoiled)!, JsonCodec.getDefault()), {
    code: 'OUTBOX_PAYLOAD_UNREADABLE',
  })
}

function isSpoiled(row: Row): boolean {
  try {
    EventEnvelope.stored(row, JsonCodec.getDefault())
    return false
  } catch {
    return true
  }
}
