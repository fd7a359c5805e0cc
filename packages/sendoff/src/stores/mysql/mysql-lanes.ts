import type {
  HoldRequest,
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
import type { LockingDriver, MysqlDriver, Rows, StoreDriver } from './drivers/mysql-driver.ts'
import { ownsLock, renewLock } from './mysql-locks.ts'
import { destinationValues, placeValues } from './sql/due-values.ts'
import type { LaneDestination } from './sql/lane-statements.ts'
import { numberOf, readOrderedRow, textOf } from './sql/row-columns.ts'
import { pendingQueues } from './sql/row-conditions.ts'
import { rowLimit } from './sql/row-limit.ts'
import { rowsOf } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'
import { lockKeys } from './write-locks.ts'

/** How many keys one statement reads. */
const keysAtOnce = 100

/** The lanes of a MySQL store. Writers lock keys in their own transactions. */
export function mysqlLanes<Tx extends object>(
  driver: MysqlDriver<Tx> & LockingDriver,
  statements: MysqlStatements,
  destinations: DestinationIndexes,
): OutboxLanes<Tx> {
  return {
    lock: async ({ tx, keys }) => lockKeys(driver.session(tx), statements, keys),
    read: (request) => readLanes(driver, statements, request, destinations.cover(request)),
    readAll: (request) => readOneLane(driver, statements, request),
    hold: (request) => holdRows(driver, statements, request),
  }
}

/** Finds keys with due rows. Reads the rows of these keys and of the named ones. */
async function readLanes(
  driver: LockingDriver,
  statements: MysqlStatements,
  request: LaneRequest,
  byDestination: boolean,
): Promise<LaneAnswer | undefined> {
  if (!(await isKept(driver, statements, request))) return undefined

  const { found, next } = await findDue(driver, statements, request, byDestination)
  const keys = new Set([...request.keys, ...found.flatMap(({ orderingKey }) => orderingKey ?? [])])
  const keyless = found.filter(({ orderingKey }) => orderingKey === null)
  return {
    rows: [
      ...(await lanesOfKeys(driver, statements, [...keys], request, byDestination)),
      ...(await keylessRows(driver, statements, keyless)),
    ],
    next,
  }
}

/** Reads pending rows in write order, whatever their keys. */
async function readOneLane(
  driver: LockingDriver,
  statements: MysqlStatements,
  request: OneLaneRequest,
): Promise<readonly OrderedRow[] | undefined> {
  if (!(await isKept(driver, statements, request))) return undefined

  const { afterSeq = 0, limit } = request
  const values = pendingQueues.map(() => afterSeq)
  return (await driver.run(statements.oneLane(rowLimit(limit)), values)).rows.map(readOrderedRow)
}

/** Whether the lock is the owner's. Renews it on request. */
async function isKept(
  driver: LockingDriver,
  statements: MysqlStatements,
  { owner, renewMs }: { readonly owner: OwnerFence; readonly renewMs?: number },
): Promise<boolean> {
  if (renewMs !== undefined) return renewLock(driver, statements, { ...owner, ttlMs: renewMs })
  return (await driver.run(statements.ownLock, [owner.lock, owner.token])).rows.length > 0
}

async function findDue(
  driver: StoreDriver,
  { dueKeys }: MysqlStatements,
  request: LaneRequest,
  byDestination: boolean,
): Promise<DueSearch> {
  const search = new DueSearch(request)
  while (search.pageSize > 0) {
    const { from, pageSize } = search
    const options = { from: from !== undefined, skipRecent: false, byDestination }
    const wanted = byDestination ? destinationValues(request) : []
    const { rows } = await driver.run(dueKeys(options, pageSize), [...wanted, ...placeValues(from)])
    search.look(rows.map(readDueRow))
  }
  return search
}

function readDueRow(values: readonly unknown[]): DueRow {
  const [seq, availableAt, eventId, orderingKey, partitionNo, destination] = values
  return {
    seq: Number(seq),
    availableAt: Number(availableAt),
    eventId: String(eventId),
    orderingKey: textOf(orderingKey),
    partitionNo: numberOf(partitionNo),
    destination: String(destination),
  }
}

/**
 * For most lanes, the first rows are enough. A lane is read again only if it may have further rows in place
 * of those left out.
 */
async function lanesOfKeys(
  driver: StoreDriver,
  statements: MysqlStatements,
  keys: readonly string[],
  { skipWaiting = false, ...request }: LaneRequest,
  byDestination: boolean,
): Promise<readonly OrderedRow[]> {
  const perKey = rowLimit(request.perKey)
  if (perKey === 0) return []

  const { destination } = request
  const named: LaneDestination = destination === undefined ? 'any' : byDestination ? 'indexed' : 'filtered'
  const first = await readByKey(driver, keys, destination, (count) =>
    statements.firstOfLanes(count, perKey, named),
  )
  const lanes = Map.groupBy(first.map(readLaneRow), ({ row }) => row.orderingKey!)
  const isWanted = ({ row, isInLine }: LaneRow) => isInLine && (!skipWaiting || row.waitMs === 0)

  const short = [...lanes]
    .filter(([, rows]) => rows.length === perKey && !rows.every(isWanted))
    .map(([key]) => key)
  const again = await readByKey(driver, short, destination, (count) =>
    statements.lanes(count, perKey, named, skipWaiting),
  )
  short.forEach((key) => lanes.delete(key))
  const told = [...lanes.values()]
    .flat()
    .filter(isWanted)
    .map(({ row }) => row)
  return inLanes([...told, ...again.map(readOrderedRow)])
}

interface LaneRow {
  readonly row: OrderedRow
  readonly isInLine: boolean
}

function readLaneRow(values: readonly unknown[]): LaneRow {
  return { row: readOrderedRow(values), isInLine: Number(values.at(-1)) === 1 }
}

/** Puts the rows of one key together, in write order. */
function inLanes(rows: OrderedRow[]): readonly OrderedRow[] {
  rows.sort((a, b) => a.seq - b.seq)
  return [...Map.groupBy(rows, ({ orderingKey }) => orderingKey).values()].flat()
}

async function readByKey(
  driver: StoreDriver,
  keys: readonly string[],
  destination: string | undefined,
  statement: (count: number) => string,
): Promise<Rows> {
  const rows: (readonly unknown[])[] = []
  for (let start = 0; start < keys.length; start += keysAtOnce) {
    const some = keys.slice(start, start + keysAtOnce).map((key) => Buffer.from(key))
    const values = destination === undefined ? some : some.flatMap((key) => [key, destination])
    rows.push(...(await driver.run(statement(some.length), values)).rows)
  }
  return rows
}

async function keylessRows(
  driver: StoreDriver,
  { ordered }: MysqlStatements,
  found: readonly DueRow[],
): Promise<readonly OrderedRow[]> {
  if (found.length === 0) return []

  const { rows } = await driver.run(ordered(rowsOf(found.map(({ seq }) => seq))))
  return rows.map(readOrderedRow).filter(({ waitMs }) => waitMs === 0)
}

/** Records what the owner holds. Returns whether the lock is still the owner's. */
async function holdRows(
  driver: LockingDriver,
  statements: MysqlStatements,
  { owner, rows }: HoldRequest,
): Promise<boolean> {
  const { affectedRows } = await driver.run(statements.hold, [heldText(rows), owner.lock, owner.token])
  // Some servers do not count a row that the statement left unchanged.
  return affectedRows > 0 || ownsLock(driver, statements, owner, await driver.skipsLocked())
}
