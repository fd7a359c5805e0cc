import type { ClaimRequest, ClaimTypesAnswer, ClaimTypesRequest, Row } from '../../store/index.ts'
import { inDueOrder, nextPlace } from '../../store/due-order.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import { readRows } from './sql/row-columns.ts'
import { namedRowValues } from './sql/row-ids.ts'
import { placeValues, roundedUp, skipRecentValue, storable, textArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Claims due rows, in due order. */
export async function claimRows(
  session: PostgresSession,
  statements: PostgresStatements,
  request: ClaimRequest,
  byDestination: boolean,
): Promise<readonly Row[]> {
  const { limit, rows } = request
  if (limit <= 0 || rows?.length === 0) return []

  const wanted = wantedValues(request)
  const answer =
    rows === undefined
      ? await session.run(byDestination ? statements.claimOf : statements.claim, [
          ...wanted,
          request.destination ?? null,
        ])
      : await session.run(statements.claimKeys, [...wanted, ...namedRowValues(rows)])
  // An UPDATE returns rows in no particular order.
  return readRows(answer).sort(inDueOrder)
}

/** Claims due rows of some types, within a window of due rows. */
export async function claimRowsOfTypes(
  session: PostgresSession,
  statements: PostgresStatements,
  request: ClaimTypesRequest,
  byDestination: boolean,
): Promise<ClaimTypesAnswer> {
  const { limit, types, from, window } = request
  if (limit <= 0) return { rows: [], next: undefined }
  if (byDestination && types === undefined) {
    // Every row on the way is wanted.
    const rows = await claimRows(session, statements, request, true)
    return { rows, next: nextPlace(rows, limit, undefined) }
  }

  const [place] = byDestination
    ? await session.run(statements.windowEndOf, [
        ...placeValues(from),
        String(window),
        request.destination ?? null,
      ])
    : await session.run(statements.windowEnd, [...placeValues(from), String(window)])
  const end = place && { availableAt: Number(place[0]), seq: Number(place[1]) }
  const within = [
    ...wantedValues(request),
    request.destination ?? null,
    String(end?.availableAt ?? Infinity),
    String(end?.seq ?? 0),
  ]
  const answer =
    types === undefined
      ? await session.run(statements.claimWithin, within)
      : await session.run(byDestination ? statements.claimTypesOf : statements.claimTypes, [
          ...within,
          textArray(types.map(({ aggregateType }) => storable(aggregateType))),
          textArray(types.map(({ eventType }) => storable(eventType))),
        ])
  const rows = readRows(answer).sort(inDueOrder)
  return { rows, next: nextPlace(rows, limit, end) }
}

function wantedValues({ lease, limit, from, skipRecentMs }: Omit<ClaimRequest, 'rows'>): Value[] {
  return [
    lease.owner,
    roundedUp(lease.ms),
    ...placeValues(from),
    String(limit),
    skipRecentValue(skipRecentMs),
  ]
}
