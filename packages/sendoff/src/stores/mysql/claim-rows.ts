import { setTimeout as sleep } from 'node:timers/promises'
import { nextPlace } from '../../store/due-order.ts'
import { hasChanged } from '../../store/has-changed.ts'
import type {
  ClaimRequest,
  ClaimTypesAnswer,
  ClaimTypesRequest,
  Lease,
  NamedRow,
  Row,
} from '../../store/index.ts'
import type { MysqlSession, StoreDriver, Value } from './drivers/mysql-driver.ts'
import { destinationValues, dueOptions, dueValues, placeValues, recentValues } from './sql/due-values.ts'
import { readRow } from './sql/row-columns.ts'
import type { DueOptions } from './sql/row-conditions.ts'
import { distinctRowIds, rowIdCondition, rowName } from './sql/row-ids.ts'
import { rowLimit } from './sql/row-limit.ts'
import { durationValue, rowsOf } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The result of a store's last claim. */
export interface LastClaim {
  isEmpty: boolean
}

/** Claims due rows, in due order. */
export async function claimRows(
  driver: StoreDriver,
  statements: MysqlStatements,
  request: ClaimRequest,
  last: LastClaim,
  byDestination: boolean,
): Promise<readonly Row[]> {
  const { rows: ids } = request
  if (rowLimit(request.limit) === 0 || ids?.length === 0) return []
  if (ids !== undefined) return claimNamed(driver, statements, request, distinctRowIds(ids))

  const options = dueOptions(request, byDestination)
  return claimDue(driver, statements, request, options, dueValues(request, byDestination), last)
}

/** Claims due rows of some types, within a window of due rows. */
export async function claimRowsOfTypes(
  driver: StoreDriver,
  statements: MysqlStatements,
  request: ClaimTypesRequest,
  last: LastClaim,
  byDestination: boolean,
): Promise<ClaimTypesAnswer> {
  const { types, from, window } = request
  const limit = rowLimit(request.limit)
  if (limit === 0 || types?.length === 0) return { rows: [], next: undefined }
  if (byDestination && types === undefined) {
    // Every row on the way is wanted.
    const rows = await claimRows(driver, statements, request, last, true)
    return { rows, next: nextPlace(rows, limit, undefined) }
  }

  const options = dueOptions(request, byDestination)
  const first = byDestination ? destinationValues(request) : []
  const { rows: ends } = await driver.run(statements.windowEnd(options, window), [
    ...first,
    ...placeValues(from),
  ])
  const end = ends[0] && { availableAt: Number(ends[0][0]), seq: Number(ends[0][1]) }
  const values = [
    ...first,
    ...placeValues(from),
    ...placeValues(end),
    ...recentValues(request),
    ...(types ?? []).flatMap((type) => [Buffer.from(type.aggregateType), Buffer.from(type.eventType)]),
    ...(byDestination ? [] : destinationValues(request)),
  ]
  const typed = { ...options, to: end !== undefined, types: types?.length ?? 0 }
  const rows = await claimDue(driver, statements, request, typed, values, last)
  return { rows, next: nextPlace(rows, limit, end) }
}

async function claimDue(
  driver: StoreDriver,
  statements: MysqlStatements,
  { lease, limit }: ClaimRequest,
  options: DueOptions,
  values: readonly Value[],
  last: LastClaim,
): Promise<readonly Row[]> {
  // If the last claim found nothing, most likely there is still nothing. This check takes a quarter of the
  // time of a transaction.
  if (last.isEmpty && (await driver.run(statements.anyDue(options), values)).rows.length === 0) return []

  const rows = await driver.briefly(async (session) => {
    const found = await session.run(statements.claim(options, rowLimit(limit)), values)
    return leased(session, found.rows.map(readRow), lease, statements.lease, [])
  })
  last.isEmpty = rows.length === 0
  return rows
}

// A writer that writes an event again locks its row until the transaction ends. Mostly that is soon.
const waitsForLocksMs = [5, 20, 80, 320]

/** Claims the named rows, including those that another transaction locks for a moment. */
async function claimNamed(
  driver: StoreDriver,
  statements: MysqlStatements,
  request: ClaimRequest,
  ids: readonly NamedRow[],
): Promise<readonly Row[]> {
  const { lease, limit } = request
  const options = { ...dueOptions(request, false), destination: false }
  const byName = new Map(ids.map((id) => [rowName(id), id]))
  const isWanted = (row: Row) => !hasChanged(row, byName.get(rowName(row))!)
  const claimed: Row[] = []
  for (let left = ids, tries = 0; ; tries += 1) {
    const { condition, values } = named(left)
    const rows = await driver.briefly(async (session) => {
      const text = statements.claimKeys(condition, options, limit - claimed.length)
      const found = (await session.run(text, values)).rows.map(readRow).filter(isWanted)
      return leased(session, found, lease, statements.leaseKeys, [lease.owner])
    })
    claimed.push(...rows)

    const names = new Set(rows.map(rowName))
    left = left.filter((id) => !names.has(rowName(id)))
    const waitMs = waitsForLocksMs[tries]
    if (left.length === 0 || claimed.length === limit || waitMs === undefined) return claimed

    const locked = named(left)
    const { rows: anyLocked } = await driver.run(statements.anyKeys(locked.condition, options), locked.values)
    if (anyLocked.length === 0) return claimed
    await sleep(waitMs)
  }

  function named(some: readonly NamedRow[]): { condition: string; values: Value[] } {
    const { condition, values } = rowIdCondition(some)
    return {
      condition,
      values: [...values, ...placeValues(request.from), lease.owner, ...recentValues(request)],
    }
  }
}

/** Leases rows that this transaction has locked. Returns them with their new lease. */
async function leased(
  session: MysqlSession,
  rows: readonly Row[],
  { owner, ms }: Lease,
  statement: (rows: string) => string,
  values: readonly Value[],
): Promise<readonly Row[]> {
  if (rows.length === 0) return []

  await session.run(statement(rowsOf(rows.map((row) => row.seq))), [...values, owner, durationValue(ms)])
  const [exceptHolder] = values
  return rows.map((row) => {
    const isLoss = row.lockedBy !== null && row.lockedBy !== exceptHolder
    return {
      ...row,
      deliveries: row.deliveries + 1,
      losses: isLoss ? row.losses + 1 : row.losses,
      lockedBy: owner,
    }
  })
}
