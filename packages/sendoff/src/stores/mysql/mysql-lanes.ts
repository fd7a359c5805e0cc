import type { LaneAnswer, LaneRequest, OneLaneRequest, OrderedRow, OwnerFence } from '../../store/index.ts'
import { type DueRow, DueSearch } from '../sql/due-search.ts'
import { placeValues } from './claim-rows.ts'
import type { MysqlDriver, Rows } from './drivers/mysql-driver.ts'
import { renewLock } from './mysql-locks.ts'
import { readOrderedRow, textOf } from './sql/row-columns.ts'
import { pendingQueues } from './sql/row-conditions.ts'
import { rowLimit } from './sql/row-limit.ts'
import { rowsOf } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** How many keys are read by one statement. */
const keysAtOnce = 100

/** Finds keys with due rows, and reads the rows of these keys and of those that are named. */
export async function readLanes<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  request: LaneRequest,
): Promise<LaneAnswer | undefined> {
  if (!(await isKept(driver, statements, request))) return undefined

  const { found, next } = await findDue(driver, statements, request)
  const keys = new Set([...request.keys, ...found.flatMap(({ orderingKey }) => orderingKey ?? [])])
  const keyless = found.filter(({ orderingKey }) => orderingKey === null)
  return {
    rows: [
      ...(await lanesOfKeys(driver, statements, [...keys], request)),
      ...(await keylessRows(driver, statements, keyless)),
    ],
    next,
  }
}

/** Reads pending rows in write order, whatever their keys. */
export async function readOneLane<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  request: OneLaneRequest,
): Promise<readonly OrderedRow[] | undefined> {
  if (!(await isKept(driver, statements, request))) return undefined

  const { afterSeq = 0, limit } = request
  const values = pendingQueues.map(() => afterSeq)
  return (await driver.run(statements.oneLane(rowLimit(limit)), values)).rows.map(readOrderedRow)
}

/** Whether the lock is the owner's, and renewed if it was asked for. */
async function isKept<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  { owner, renewMs }: { readonly owner: OwnerFence; readonly renewMs?: number },
): Promise<boolean> {
  if (renewMs !== undefined) return renewLock(driver, statements, { ...owner, ttlMs: renewMs })
  return (await driver.run(statements.ownLock, [owner.lock, owner.token])).rows.length > 0
}

async function findDue<Tx extends object>(
  driver: MysqlDriver<Tx>,
  { dueKeys }: MysqlStatements,
  request: LaneRequest,
): Promise<DueSearch> {
  const search = new DueSearch(request)
  while (search.pageSize > 0) {
    const { from, pageSize } = search
    const { rows } = await driver.run(dueKeys(from !== undefined, pageSize), placeValues(from))
    search.look(rows.map(readDueRow))
  }
  return search
}

function readDueRow([seq, availableAt, eventId, orderingKey, partitionNo]: readonly unknown[]): DueRow {
  return {
    seq: Number(seq),
    availableAt: Number(availableAt),
    eventId: String(eventId),
    orderingKey: textOf(orderingKey),
    partitionNo: partitionNo === null ? null : Number(partitionNo),
  }
}

/** Most lanes are told by their first rows. Only those are read again in which there may be others to take the place of some. */
async function lanesOfKeys<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  keys: readonly string[],
  { skipWaiting = false, ...request }: LaneRequest,
): Promise<readonly OrderedRow[]> {
  const perKey = rowLimit(request.perKey)
  if (perKey === 0) return []

  const first = await readByKey(driver, keys, (count) => statements.firstOfLanes(count, perKey))
  const lanes = Map.groupBy(first.map(readLaneRow), ({ row }) => row.orderingKey!)
  const isWanted = ({ row, isInLine }: LaneRow) => isInLine && (!skipWaiting || row.waitMs === 0)

  const short = [...lanes]
    .filter(([, rows]) => rows.length === perKey && !rows.every(isWanted))
    .map(([key]) => key)
  const again = await readByKey(driver, short, (count) => statements.lanes(count, perKey, skipWaiting))
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

/** Those of one key together and in write order. */
function inLanes(rows: OrderedRow[]): readonly OrderedRow[] {
  rows.sort((a, b) => a.seq - b.seq)
  return [...Map.groupBy(rows, ({ orderingKey }) => orderingKey).values()].flat()
}

async function readByKey<Tx extends object>(
  driver: MysqlDriver<Tx>,
  keys: readonly string[],
  statement: (count: number) => string,
): Promise<Rows> {
  const rows: (readonly unknown[])[] = []
  for (let start = 0; start < keys.length; start += keysAtOnce) {
    const some = keys.slice(start, start + keysAtOnce).map((key) => Buffer.from(key))
    rows.push(...(await driver.run(statement(some.length), some)).rows)
  }
  return rows
}

async function keylessRows<Tx extends object>(
  driver: MysqlDriver<Tx>,
  { ordered }: MysqlStatements,
  found: readonly DueRow[],
): Promise<readonly OrderedRow[]> {
  if (found.length === 0) return []

  const { rows } = await driver.run(ordered(rowsOf(found.map(({ seq }) => seq))))
  return rows.map(readOrderedRow).filter(({ waitMs }) => waitMs === 0)
}
