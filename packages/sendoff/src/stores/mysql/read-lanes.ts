import type {
  DuePlace,
  LaneAnswer,
  LaneRequest,
  OneLaneRequest,
  OrderedRow,
  OwnerFence,
} from '../../store.ts'
import { placeValues } from './claim-rows.ts'
import type { MysqlDriver } from './mysql-driver.ts'
import { renewLock } from './mysql-locks.ts'
import { readOrderedRow, textOf } from './row-columns.ts'
import { pendingQueues } from './row-conditions.ts'
import { numberList, rowsOf } from './statement-values.ts'
import type { MysqlStatements } from './statements.ts'

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
  return (await driver.run(statements.oneLane(Math.max(0, limit)), values)).rows.map(readOrderedRow)
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

interface DueRow extends DuePlace {
  readonly orderingKey: string | null
}

interface Found {
  readonly found: readonly DueRow[]
  readonly next: DuePlace | undefined
}

// Keys that are excepted are sorted out here: thousands of them in a statement would cost more than the rows that they save.
async function findDue<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  { from, window, limit, partitions, except }: LaneRequest,
): Promise<Found> {
  const found: DueRow[] = []
  if (limit <= 0 || window <= 0 || partitions.length === 0) return { found, next: undefined }

  const text = statements.dueKeys(from !== undefined, numberList(partitions), window)
  const { rows } = await driver.run(text, placeValues(from))
  const excepted = new Set(except)
  for (const [seq, availableAt, eventId, key, place, isWanted] of rows) {
    const orderingKey = textOf(key)
    const row = { availableAt: Number(availableAt), seq: Number(seq), orderingKey }
    if (Number(isWanted) === 1 && !excepted.has(orderingKey ?? String(eventId))) found.push(row)
    if (found.length === limit || Number(place) === window) {
      return { found, next: { availableAt: row.availableAt, seq: row.seq } }
    }
  }
  return { found, next: undefined }
}

async function lanesOfKeys<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  keys: readonly string[],
  { perKey, skipWaiting = false }: LaneRequest,
): Promise<readonly OrderedRow[]> {
  const rows: OrderedRow[] = []
  for (let start = 0; start < keys.length; start += keysAtOnce) {
    const some = keys.slice(start, start + keysAtOnce).map((key) => Buffer.from(key))
    const answer = await driver.run(statements.lanes(some.length, Math.max(0, perKey), skipWaiting), some)
    rows.push(...answer.rows.map(readOrderedRow))
  }
  rows.sort((a, b) => a.seq - b.seq)
  return [...Map.groupBy(rows, ({ orderingKey }) => orderingKey).values()].flat()
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
