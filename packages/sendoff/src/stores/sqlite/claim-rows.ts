import type { ClaimRequest, ClaimTypesRequest, DuePlace, Row } from '../../store/index.ts'
import { inDueOrder } from '../../store/due-order.ts'
import type { ReadRow } from './sql/row-columns.ts'
import { readRow } from './sql/row-columns.ts'
import type { SqliteValue } from './drivers/sqlite-client.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Whether a claim or read would find anything. */
export function isAnyDue(statements: PreparedStatements, request: DueRequest, now: number): boolean {
  return statements.anyDue.get(...dueWithin(request, now), now) !== undefined
}

/** Due rows that nobody holds, in due order. */
export function dueRows(statements: PreparedStatements, request: DueRequest, now: number): ReadRow[] {
  return statements.due.all(...dueWithin(request, now), now, Math.max(0, request.limit)).map(readRow)
}

/** Takes due rows. The transaction around it keeps others from taking the same ones. */
export function claimRows(
  statements: PreparedStatements,
  request: ClaimRequest,
  now: number,
): readonly Row[] {
  const { rows: keys } = request
  return leased(
    statements,
    request,
    keys === undefined ? dueRows(statements, request, now) : dueRowsOfKeys(statements, request, now),
    now,
  )
}

/** The last row that a claim of some types looks at; undefined for up to the last one that is due. */
export function windowEnd(
  statements: PreparedStatements,
  { from, window }: ClaimTypesRequest,
  now: number,
): DuePlace | undefined {
  return statements.windowEnd.get(...placeValues(from), now, window - 1) as DuePlace | undefined
}

/** Whether a claim of some types would find anything. */
export function isAnyDueOfTypes(
  statements: PreparedStatements,
  request: ClaimTypesRequest,
  end: DuePlace | undefined,
  now: number,
): boolean {
  return statements.anyDueOfTypes.get(...dueOfTypes(request, end, now)) !== undefined
}

/** Takes due rows of some types, up to a place. */
export function claimRowsOfTypes(
  statements: PreparedStatements,
  request: ClaimTypesRequest,
  end: DuePlace | undefined,
  now: number,
): readonly Row[] {
  const rows = statements.dueOfTypes.all(...dueOfTypes(request, end, now), request.limit).map(readRow)
  return leased(statements, request, rows, now)
}

function leased(
  statements: PreparedStatements,
  { lease, rows: keys }: ClaimRequest,
  rows: ReadRow[],
  now: number,
): readonly Row[] {
  if (rows.length === 0) return rows

  // Whoever asks for its own rows by key is their holder and never lost them.
  const countedAsKept = keys === undefined ? null : lease.owner

  statements.lease.run(
    countedAsKept,
    lease.owner,
    Math.ceil(now + lease.ms),
    JSON.stringify(rows.map((row) => row.seq)),
  )
  for (const row of rows) {
    // The same as the statement has just done: cheaper than reading the rows once more.
    if (row.lockedBy !== null && row.lockedBy !== countedAsKept) row.losses += 1
    row.deliveries += 1
    row.lockedBy = lease.owner
  }
  return rows
}

/** The part of a `ClaimRequest` or `PollRequest` that says which rows are wanted. */
export interface DueRequest {
  readonly limit: number
  readonly from?: DuePlace | undefined
  readonly skipRecentMs?: number
}

function dueRowsOfKeys(statements: PreparedStatements, request: ClaimRequest, now: number): ReadRow[] {
  const within = dueWithin(request, now)
  const found = new Map<number, ReadRow>()

  for (const { eventId, destination } of request.rows ?? []) {
    const values = statements.dueByKey.get(eventId, destination, ...within, now, request.lease.owner)
    if (values === undefined) continue

    const row = readRow(values)
    found.set(row.seq, row)
  }
  return [...found.values()].sort(inDueOrder).slice(0, request.limit)
}

// The parameters called `dueWithin` in the statements, without limits where the request has none.
function dueWithin(request: DueRequest, now: number): SqliteValue[] {
  return [...placeValues(request.from), now, writtenBy(request, now)]
}

// The parameters called `dueOfTypes` in the statements.
function dueOfTypes(request: ClaimTypesRequest, end: DuePlace | undefined, now: number): SqliteValue[] {
  const types = request.types.map(({ aggregateType, eventType }) => [aggregateType, eventType])
  const endAt = end?.availableAt ?? now
  return [
    ...placeValues(request.from),
    Math.min(now, endAt),
    writtenBy(request, now),
    endAt,
    end?.seq ?? Number.MAX_SAFE_INTEGER,
    now,
    JSON.stringify(types),
  ]
}

function placeValues(from: DuePlace | undefined): SqliteValue[] {
  return [from?.availableAt ?? Number.MIN_SAFE_INTEGER, from?.seq ?? 0]
}

function writtenBy({ skipRecentMs }: DueRequest, now: number): number {
  return skipRecentMs ? now - skipRecentMs : Number.MAX_SAFE_INTEGER
}
