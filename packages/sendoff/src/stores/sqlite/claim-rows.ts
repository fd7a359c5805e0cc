import { hasChanged } from '../../store/has-changed.ts'
import type {
  ClaimRequest,
  ClaimTypesAnswer,
  ClaimTypesRequest,
  DuePlace,
  NamedRow,
  Row,
} from '../../store/index.ts'
import { inDueOrder, nextPlace } from '../../store/due-order.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import { dueRows, isAnyDue } from './due-rows.ts'
import { type ReadRow, readRow } from './sql/row-columns.ts'
import { dueOfTypes, dueWithin, placeValues } from './sql/statement-values.ts'
import type { PreparedStatements } from './sql/statements.ts'

/**
 * Claims due rows. Takes the write lock only if a read has found some, so that an idle poller does not
 * disturb writers.
 */
export async function claimRows(
  own: OwnDriver,
  request: ClaimRequest,
  byDestination: boolean,
): Promise<readonly Row[]> {
  const { limit, rows: ids } = request
  if (limit <= 0) return []

  return own.alone(async (session) => {
    const worthwhile =
      ids === undefined
        ? await session.read((statements, now) => isAnyDue(statements, request, now, byDestination))
        : ids.length > 0
    return worthwhile
      ? session.write((statements, now) => claimDue(statements, request, now, byDestination))
      : []
  })
}

/** Claims due rows of some types, within a window of due rows. */
export async function claimRowsOfTypes(
  own: OwnDriver,
  request: ClaimTypesRequest,
  byDestination: boolean,
): Promise<ClaimTypesAnswer> {
  const { limit, types } = request
  if (limit <= 0) return { rows: [], next: undefined }
  if (byDestination && types === undefined) {
    // Every row on the way is wanted.
    const rows = await claimRows(own, request, true)
    return { rows, next: nextPlace(rows, limit, undefined) }
  }

  return own.alone(async (session) => {
    const end = await session.read((statements, now) => windowEnd(statements, request, now, byDestination))
    const worthwhile = await session.read((statements, now) =>
      isAnyDueOfTypes(statements, request, end, now, byDestination),
    )
    const rows = worthwhile
      ? await session.write((statements, now) =>
          claimDueOfTypes(statements, request, end, now, byDestination),
        )
      : []
    return { rows, next: nextPlace(rows, limit, end) }
  })
}

function claimDue(
  statements: PreparedStatements,
  request: ClaimRequest,
  now: number,
  byDestination: boolean,
): readonly Row[] {
  const { rows: ids } = request
  const rows =
    ids === undefined
      ? dueRows(statements, request, now, byDestination)
      : dueRowsOfIds(statements, request, ids, now)
  return leased(statements, request, rows, now)
}

/** Returns the last row that a claim of some types examines; undefined for the last one that is due. */
function windowEnd(
  statements: PreparedStatements,
  { from, window, destination }: ClaimTypesRequest,
  now: number,
  byDestination: boolean,
): DuePlace | undefined {
  const values = [...placeValues(from), now, window - 1]
  const end = byDestination
    ? statements.windowEndOf.get(destination!, ...values)
    : statements.windowEnd.get(...values)
  return end as DuePlace | undefined
}

/** Whether a claim of some types would find anything. */
function isAnyDueOfTypes(
  statements: PreparedStatements,
  request: ClaimTypesRequest,
  end: DuePlace | undefined,
  now: number,
  byDestination: boolean,
): boolean {
  const statement = byDestination ? statements.anyDueOfTypesOf : statements.anyDueOfTypes
  return statement.get(...dueOfTypes(request, end, now, byDestination)) !== undefined
}

function claimDueOfTypes(
  statements: PreparedStatements,
  request: ClaimTypesRequest,
  end: DuePlace | undefined,
  now: number,
  byDestination: boolean,
): readonly Row[] {
  const statement = byDestination ? statements.dueOfTypesOf : statements.dueOfTypes
  const wanted = dueOfTypes(request, end, now, byDestination)
  const rows = statement.all(...wanted, request.limit).map(readRow)
  return leased(statements, request, rows, now)
}

function dueRowsOfIds(
  statements: PreparedStatements,
  request: ClaimRequest,
  ids: readonly NamedRow[],
  now: number,
): ReadRow[] {
  const within = dueWithin(request, now)
  const found = new Map<number, ReadRow>()

  for (const id of ids) {
    const values = statements.dueById.get(id.eventId, id.destination, ...within, now, request.lease.owner)
    if (values === undefined) continue

    const row = readRow(values)
    if (!hasChanged(row, id)) found.set(row.seq, row)
  }
  return [...found.values()].sort(inDueOrder).slice(0, request.limit)
}

function leased(
  statements: PreparedStatements,
  { lease, rows: ids }: ClaimRequest,
  rows: ReadRow[],
  now: number,
): readonly Row[] {
  if (rows.length === 0) return rows

  // A process that claims its own rows by their ids is their holder and never lost them.
  const countedAsKept = ids === undefined ? null : lease.owner

  statements.lease.run(
    countedAsKept,
    lease.owner,
    Math.ceil(now + lease.ms),
    JSON.stringify(rows.map((row) => row.seq)),
  )
  for (const row of rows) {
    // We repeat here what the statement has just done, which is cheaper than reading the rows once more.
    if (row.lockedBy !== null && row.lockedBy !== countedAsKept) row.losses += 1
    row.deliveries += 1
    row.lockedBy = lease.owner
  }
  return rows
}
