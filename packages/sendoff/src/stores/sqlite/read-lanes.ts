import { partitionOfRow } from '../../event/partition.ts'
import type {
  DuePlace,
  LaneAnswer,
  LaneRequest,
  OneLaneRequest,
  OrderedRow,
  OwnerFence,
} from '../../store.ts'
import { inOrder, readOrderedRow } from './row-columns.ts'
import type { SqliteStatement } from './sqlite-client.ts'
import { ownedLock, renewLock } from './sqlite-locks.ts'
import type { PreparedStatements } from './statements.ts'

/** Finds keys with due rows, and reads the rows of these keys and of those that are named. */
export function readLanes(
  statements: PreparedStatements,
  request: LaneRequest,
  now: number,
): LaneAnswer | undefined {
  if (!isKept(statements, request, now)) return undefined

  const { found, next } = findDue(statements, request, now)
  const keys = new Set([...request.keys, ...found.flatMap(({ orderingKey }) => orderingKey ?? [])])
  const keyless = found.filter(({ orderingKey }) => orderingKey === null)
  const lane = statements.anyControl.get() === undefined ? statements.lane : statements.controlledLane
  return {
    rows: [
      ...[...keys].flatMap((key) => readLane(lane, key, request, now)),
      ...readKeyless(statements, keyless, now),
    ],
    next,
  }
}

/** Reads pending rows in write order, whatever their keys. */
export function readOneLane(
  statements: PreparedStatements,
  request: OneLaneRequest,
  now: number,
): readonly OrderedRow[] | undefined {
  if (!isKept(statements, request, now)) return undefined

  const { afterSeq = 0, limit } = request
  return statements.oneLane.all(now, now, afterSeq, now, Math.max(0, limit)).map(readOrderedRow)
}

/** Whether the lock is the owner's, and renewed if it was asked for. */
function isKept(
  statements: PreparedStatements,
  { owner, renewMs }: { readonly owner: OwnerFence; readonly renewMs?: number },
  now: number,
): boolean {
  if (renewMs !== undefined) return renewLock(statements, { ...owner, ttlMs: renewMs }, now)
  return ownedLock(statements, owner, now) !== undefined
}

interface DueRow extends DuePlace {
  readonly orderingKey: string | null
}

interface Found {
  readonly found: readonly DueRow[]
  readonly next: DuePlace | undefined
}

/** Looks through due rows in pages, up to the window or to the last row that is wanted. */
function findDue(statements: PreparedStatements, request: LaneRequest, now: number): Found {
  const { from, limit, window } = request
  const wanted = new Set(request.partitions)
  const excepted = new Set(request.except)
  const found: DueRow[] = []
  if (limit <= 0) return { found, next: undefined }

  let last: DuePlace = from
    ? { ...from, seq: from.seq - 1 }
    : { availableAt: Number.MIN_SAFE_INTEGER, seq: 0 }
  for (let looked = 0; looked < window; looked += pageSize) {
    const size = Math.min(pageSize, window - looked)
    const page = statements.dueKeys.all(last.availableAt, last.seq, now, now, size)
    for (const values of page) {
      const [seq, availableAt, eventId, orderingKey, partitionNo] = inOrder<DueValues>(values)
      last = { availableAt, seq }
      if (excepted.has(orderingKey ?? eventId) || !wanted.has(partitionOfRow({ partitionNo, seq }))) continue
      found.push({ availableAt, seq, orderingKey })
      if (found.length === limit) return { found, next: last }
    }
    if (page.length < size) return { found, next: undefined }
  }
  return { found, next: last }
}

const pageSize = 500

type DueValues = readonly [
  seq: number,
  availableAt: number,
  eventId: string,
  orderingKey: string | null,
  partitionNo: number | null,
]

function readLane(
  lane: SqliteStatement,
  key: string,
  { perKey, skipWaiting = false }: LaneRequest,
  now: number,
): OrderedRow[] {
  const withWaiting = skipWaiting ? 0 : 1
  return lane.all(now, now, key, now, withWaiting, Math.max(0, perKey)).map(readOrderedRow)
}

function readKeyless({ ordered }: PreparedStatements, rows: readonly DueRow[], now: number): OrderedRow[] {
  if (rows.length === 0) return []

  const read = ordered.all(now, now, JSON.stringify(rows.map(({ seq }) => seq))).map(readOrderedRow)
  return read.filter(({ waitMs }) => waitMs === 0)
}
