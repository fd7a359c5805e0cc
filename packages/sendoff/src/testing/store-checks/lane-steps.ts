import { ok } from 'node:assert/strict'
import { partitionCount } from '../../store/partition-of.ts'
import {
  type LaneAnswer,
  type LaneRequest,
  type OutboxStore,
  type OwnerFence,
  participantLock,
  type StoreWith,
} from '../../store/index.ts'

/** Makes a process take part in sharing partitions. */
export async function takePart<Tx>(
  store: OutboxStore<Tx>,
  token: string,
  ttlMs = 30_000,
): Promise<OwnerFence> {
  const owner = { lock: participantLock(token), token }
  ok(await store.locks.acquire({ ...owner, ttlMs }))
  return owner
}

/** Reads lanes of all partitions, unless the request says otherwise. */
export function readLanes<Tx>(
  store: StoreWith<Tx, 'lanes'>,
  owner: OwnerFence,
  request: Partial<LaneRequest>,
): Promise<LaneAnswer | undefined> {
  return store.lanes.read({
    owner,
    partitions: Array.from({ length: partitionCount }, (_, index) => index),
    keys: [],
    except: [],
    window: 100,
    limit: 100,
    perKey: 10,
    ...request,
  })
}

/** Returns the ids of the rows that were read, by key; each row without a key is listed by itself. */
export async function lanesOf<Tx>(
  store: StoreWith<Tx, 'lanes'>,
  owner: OwnerFence,
  request: Partial<LaneRequest> = {},
): Promise<readonly (readonly string[])[]> {
  const answer = await readLanes(store, owner, request)
  ok(answer, 'the owner lost its lock')
  const lanes: { key: string; ids: string[] }[] = []
  for (const { eventId, orderingKey } of answer.rows) {
    const key = orderingKey ?? eventId
    if (lanes.at(-1)?.key === key) lanes.at(-1)!.ids.push(eventId)
    else lanes.push({ key, ids: [eventId] })
  }
  return lanes.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ ids }) => ids)
}
