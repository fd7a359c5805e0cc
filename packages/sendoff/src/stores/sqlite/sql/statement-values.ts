import type { ClaimTypesRequest, DuePlace } from '../../../store/index.ts'
import type { SqliteValue } from '../drivers/sqlite-client.ts'

/** The part of a `ClaimRequest` or `PollRequest` that says which rows are wanted. */
export interface DueRequest {
  readonly limit: number
  readonly from?: DuePlace | undefined
  readonly skipRecentMs?: number
  readonly destination?: string
}

/** The parameters called `dueWithin` in the statements. A request without limits gets limits that fit all. */
export function dueWithin(request: DueRequest, now: number): SqliteValue[] {
  return [...placeValues(request.from), now, writtenBy(request, now)]
}

/** The parameters called `dueOfTypes` in the statements, or `dueOfTypesOf` if it goes by destination. */
export function dueOfTypes(
  request: ClaimTypesRequest,
  end: DuePlace | undefined,
  now: number,
  byDestination: boolean,
): SqliteValue[] {
  const pairs = request.types?.map(({ aggregateType, eventType }) => [aggregateType, eventType])
  const types = pairs === undefined ? null : JSON.stringify(pairs)
  const endAt = end?.availableAt ?? now
  return [
    ...(byDestination ? [request.destination!] : []),
    ...placeValues(request.from),
    Math.min(now, endAt),
    writtenBy(request, now),
    endAt,
    end?.seq ?? Number.MAX_SAFE_INTEGER,
    now,
    ...(byDestination ? [] : destinationValues(request)),
    types,
    types,
  ]
}

/** The parameters called `forDestination` in the statements. */
export function destinationValues({ destination }: DueRequest): SqliteValue[] {
  return [destination ?? null, destination ?? null]
}

/** The place to start from; a place before all others if there is none. */
export function placeValues(from: DuePlace | undefined): SqliteValue[] {
  return [from?.availableAt ?? Number.MIN_SAFE_INTEGER, from?.seq ?? 0]
}

function writtenBy({ skipRecentMs }: DueRequest, now: number): number {
  return skipRecentMs ? now - skipRecentMs : Number.MAX_SAFE_INTEGER
}
