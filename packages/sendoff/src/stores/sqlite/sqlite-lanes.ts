import type {
  FencedRow,
  LaneAnswer,
  LaneRequest,
  OneLaneRequest,
  OrderedRow,
  OutboxLanes,
  OwnerFence,
} from '../../store/index.ts'
import type { DestinationIndexes } from '../sql/destination-indexes.ts'
import { type DueRow, DueSearch } from '../sql/due-search.ts'
import { heldText } from '../sql/held-text.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteStatement } from './drivers/sqlite-client.ts'
import type { Step } from './drivers/sqlite-session.ts'
import { inOrder, readOrderedRow } from './sql/row-columns.ts'
import type { PreparedStatements } from './sql/statements.ts'
import { ownedLock, renewLock } from './sqlite-locks.ts'

/** The lanes of an SQLite store. */
export function sqliteLanes<Tx>(own: OwnDriver, destinations: DestinationIndexes): OutboxLanes<Tx> {
  return {
    // Transactions run one at a time: commit order is write order.
    async lock() {},

    read: (request) =>
      readingAs(own, request.renewMs, (statements, now) =>
        readLanes(statements, request, now, destinations.cover(request)),
      ),
    readAll: (request) =>
      readingAs(own, request.renewMs, (statements, now) => readOneLane(statements, request, now)),
    hold: ({ owner, rows }) => own.write((statements, now) => holdRows(statements, owner, rows, now)),
  }
}

/** Takes the write lock only if there is a lock to renew, so that an idle owner does not block writers. */
function readingAs<Result>(own: OwnDriver, renewMs: number | undefined, step: Step<Result>): Promise<Result> {
  return renewMs === undefined ? own.snapshot(step) : own.write(step)
}

/** Finds keys with due rows. Reads the rows of these keys and of the named ones. */
function readLanes(
  statements: PreparedStatements,
  request: LaneRequest,
  now: number,
  byDestination: boolean,
): LaneAnswer | undefined {
  if (!isKept(statements, request, now)) return undefined

  const { found, next } = findDue(statements, request, now, byDestination)
  const keys = new Set([...request.keys, ...found.flatMap(({ orderingKey }) => orderingKey ?? [])])
  const keyless = found.filter(({ orderingKey }) => orderingKey === null)
  const lane = laneStatement(statements, request, byDestination)
  return {
    rows: [
      ...[...keys].flatMap((key) => readLane(lane, key, request, now)),
      ...readKeyless(statements, keyless, now),
    ],
    next,
  }
}

/** Reads pending rows in write order, whatever their keys. */
function readOneLane(
  statements: PreparedStatements,
  request: OneLaneRequest,
  now: number,
): readonly OrderedRow[] | undefined {
  if (!isKept(statements, request, now)) return undefined

  const { afterSeq = 0, limit } = request
  return statements.oneLane.all(now, now, afterSeq, now, Math.max(0, limit)).map(readOrderedRow)
}

/** Records what the owner holds. Returns whether the lock is still the owner's. */
function holdRows(
  { hold }: PreparedStatements,
  { lock, token }: OwnerFence,
  rows: readonly FencedRow[],
  now: number,
): boolean {
  return Number(hold.run(heldText(rows), lock, token, now).changes) > 0
}

/** Whether the lock is the owner's. Renews it on request. */
function isKept(
  statements: PreparedStatements,
  { owner, renewMs }: { readonly owner: OwnerFence; readonly renewMs?: number },
  now: number,
): boolean {
  if (renewMs !== undefined) return renewLock(statements, { ...owner, ttlMs: renewMs }, now)
  return ownedLock(statements, owner, now) !== undefined
}

function findDue(
  statements: PreparedStatements,
  request: LaneRequest,
  now: number,
  byDestination: boolean,
): DueSearch {
  const dueKeys = byDestination ? statements.dueKeysOf : statements.dueKeys
  const wanted = byDestination ? [request.destination!] : []
  const search = new DueSearch(request)
  while (search.pageSize > 0) {
    const { availableAt, seq } = search.from ?? { availableAt: Number.MIN_SAFE_INTEGER, seq: 0 }
    search.look(dueKeys.all(...wanted, availableAt, seq, now, now, search.pageSize).map(readDueRow))
  }
  return search
}

function readDueRow(values: unknown): DueRow {
  const [seq, availableAt, eventId, orderingKey, partitionNo, destination] = inOrder<DueValues>(values)
  return { seq, availableAt, eventId, orderingKey, partitionNo, destination }
}

type DueValues = readonly [
  seq: number,
  availableAt: number,
  eventId: string,
  orderingKey: string | null,
  partitionNo: number | null,
  destination: string,
]

function laneStatement(
  statements: PreparedStatements,
  { destination }: LaneRequest,
  byDestination: boolean,
): SqliteStatement {
  const isControlled = statements.anyControl.get() !== undefined
  if (destination === undefined) return isControlled ? statements.controlledLane : statements.lane
  if (byDestination) return isControlled ? statements.controlledLaneOf : statements.laneOf
  return isControlled ? statements.controlledLaneTo : statements.laneTo
}

function readLane(
  lane: SqliteStatement,
  key: string,
  { perKey, skipWaiting = false, destination }: LaneRequest,
  now: number,
): OrderedRow[] {
  const withWaiting = skipWaiting ? 0 : 1
  const wanted = destination === undefined ? [key] : [key, destination]
  return lane.all(now, now, ...wanted, now, withWaiting, Math.max(0, perKey)).map(readOrderedRow)
}

function readKeyless({ ordered }: PreparedStatements, rows: readonly DueRow[], now: number): OrderedRow[] {
  if (rows.length === 0) return []

  const read = ordered.all(now, now, JSON.stringify(rows.map(({ seq }) => seq))).map(readOrderedRow)
  return read.filter(({ waitMs }) => waitMs === 0)
}
