import type {
  ClaimRequest,
  ClaimTypesAnswer,
  ClaimTypesRequest,
  DuePlace,
  NamedRow,
  Row,
} from '../../store/index.ts'
import { placeBehind } from '../../store/due-order.ts'
import { memberOf } from './redis-keyspace.ts'
import { claimedRows } from './row-text.ts'
import { claimIdsScript, claimScript, claimTypesScript } from './scripts/claim-scripts.ts'
import type { RunScript } from './drivers/run-script.ts'

/** The result of a claim or poll: where to continue, and the values of rows. */
export type DueAnswer = readonly [
  place: readonly [at: string, member: string] | null,
  values: readonly unknown[],
]

/** Leases due rows. A script examines a limited number of them, and runs again if these were not enough. */
export async function claimRows(run: RunScript, request: ClaimRequest): Promise<readonly Row[]> {
  const { lease, limit, rows: ids, skipRecentMs = 0 } = request
  if (limit <= 0 || ids?.length === 0) return []

  const rows: Row[] = []
  let from = placeArguments(request.from)
  while (rows.length < limit) {
    const left = String(limit - rows.length)
    const values = [lease.owner, String(lease.ms), left, ...from, String(skipRecentMs)]
    const [place, claimed] = (
      ids === undefined
        ? await run(claimScript, [...values, destinationArgument(request.destination)])
        : await run(claimIdsScript, [...values, ...ids.flatMap(namedValues)])
    ) as DueAnswer
    rows.push(...claimedRows(claimed))
    if (!place) break
    from = place
  }
  return rows
}

function namedValues({ eventId, destination, unchanged }: NamedRow): string[] {
  return [eventId, destination, unchanged?.deliveries.toString() ?? '', unchanged?.lockedBy ?? '']
}

/** Leases due rows of some types, within a window of due rows. */
export async function claimRowsOfTypes(
  run: RunScript,
  request: ClaimTypesRequest,
): Promise<ClaimTypesAnswer> {
  const { lease, limit, from, skipRecentMs = 0, window, types } = request
  if (limit <= 0) return { rows: [], next: undefined }

  const [place, claimed] = (await run(claimTypesScript, [
    lease.owner,
    String(lease.ms),
    String(limit),
    ...placeArguments(from),
    String(skipRecentMs),
    destinationArgument(request.destination),
    String(window),
    types === undefined ? '1' : '0',
    ...(types ?? []).flatMap(({ eventType, aggregateType }) => [eventType, aggregateType]),
  ])) as DueAnswer
  return {
    rows: claimedRows(claimed),
    next: place ? placeBehind({ availableAt: Number(place[0]), seq: Number(place[1]) }) : undefined,
  }
}

/** The place to start from, as scripts take it. */
export function placeArguments(place: DuePlace | undefined): readonly [at: string, member: string] {
  return place === undefined ? ['', '0'] : [String(place.availableAt), memberOf(place.seq)]
}

/** A destination, as scripts take it: behind `=`, or empty for any. */
export function destinationArgument(destination: string | undefined): string {
  return destination === undefined ? '' : `=${destination}`
}
