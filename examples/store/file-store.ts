/**
 * A store in one JSON file. Only one store in one process may use the file at a time. Each call that changes
 * something writes the whole file, so it is for small tables.
 *
 * Of the optional parts it has only `people`. It leaves out `controls` (nothing can be paused), `looks` and
 * `actions` (operators can neither browse nor replay), `purge` (settled rows and idempotency keys stay), and
 * `wakeUps` (there is no other process). It also leaves out `lanes`, `partitions` and `orderingKeys` (no delivery in order), and `ping`, `doctor`, `upkeep`,
 * `dropSilent` and `refusedCommit`.
 */
import type { NodeAnswer, NodeRequest, RowFilter, StoreWith } from 'sendoff/store'
import * as delivering from './file-store-delivering.ts'
import { type FileRow, keyOf, type State, stateFile } from './file-store-state.ts'
import { type FileTx, writing } from './file-store-writing.ts'

export type { FileTx }

/** Settings of a file store. */
export interface FileStoreOptions {
  /** The file; its folder has to exist. */
  readonly path: string
  /** The clock, in whole epoch milliseconds. The system's by default. */
  readonly now?: () => number
}

/** A store in the file at `path`. */
export function fileStore({ path, now = Date.now }: FileStoreOptions): StoreWith<FileTx, 'people'> {
  const file = stateFile(path, now)

  const changing =
    <Request, Result>(work: (state: State, request: Request, now: number) => Result) =>
    (request: Request) =>
      file.change((state, time) => work(state, request, time))

  return {
    capabilities: { durable: true, multiProcess: false },
    ...writing(file),
    claim: changing(delivering.claim),
    claimTypes: changing(delivering.claimTypes),
    renew: changing(delivering.renew),
    release: changing(delivering.release),
    settle: changing(delivering.settle),
    locks: {
      acquire: changing(delivering.acquireLock),
      renew: changing(delivering.renewLock),
      release: changing(delivering.releaseLock),
    },
    pollPending: changing(delivering.pollPending),
    nodes: {
      join: changing(join),
      leave: changing((state, id) => void state.nodes.delete(id)),
    },
    people: {
      query: ({ limit, ...filter }) =>
        file.read((state) => structuredClone(matching(state, filter).slice(0, limit))),
      count: (filter) => file.read((state) => matching(state, filter).length),
      attempts: (row) => file.read((state) => structuredClone(state.failures.get(keyOf(row)) ?? [])),
    },
    migrate: file.create,
    checkSchema: () => file.read(() => {}),
    close: file.close,
  }
}

function join(state: State, { id, mode, ttlMs }: NodeRequest, now: number): NodeAnswer {
  for (const [other, { until }] of state.nodes) if (until <= now) state.nodes.delete(other)

  const others = [...state.nodes].filter(
    ([other, node]) => other !== id && node.mode !== null && node.mode !== mode,
  )
  const otherMode = others[0]?.[1].mode ?? null
  if (mode !== null && otherMode !== null)
    return { kind: 'conflict', mode: otherMode, nodes: others.map(([other]) => other) }

  state.nodes.set(id, { mode, until: Math.ceil(now + ttlMs) })
  state.lastMode = mode ?? state.lastMode
  return { kind: 'joined', paused: [], mode: state.lastMode }
}

function matching(state: State, filter: Omit<RowFilter, 'limit'>): FileRow[] {
  const { status, eventIds, afterSeq = 0 } = filter
  const isSame = (
    row: FileRow,
    field: 'eventType' | 'aggregateType' | 'aggregateId' | 'tenantId' | 'destination' | 'eventId',
  ) => filter[field] === undefined || filter[field] === row[field]

  return [...state.rows.values()]
    .filter(
      (row) =>
        row.seq > afterSeq &&
        (status?.includes(row.status) ?? true) &&
        (eventIds?.includes(row.eventId) ?? true),
    )
    .filter((row) => isSame(row, 'eventType') && isSame(row, 'aggregateType') && isSame(row, 'aggregateId'))
    .filter((row) => isSame(row, 'tenantId') && isSame(row, 'destination') && isSame(row, 'eventId'))
    .sort((a, b) => a.seq - b.seq)
}
