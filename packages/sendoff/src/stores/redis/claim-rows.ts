import type {
  Bounds,
  ClaimRequest,
  ClaimTypesAnswer,
  ClaimTypesRequest,
  DuePlace,
  PollRequest,
  Row,
} from '../../store/index.ts'
import { boundsAround, placeBehind } from '../../store/due-order.ts'
import { memberOf } from './redis-keys.ts'
import { claimedRows } from './row-text.ts'
import { claimKeysScript, claimScript, claimTypesScript, pollScript } from './scripts/claim-scripts.ts'
import type { RunScript } from './drivers/run-script.ts'

type Answer = readonly [place: readonly [at: string, member: string] | null, values: readonly unknown[]]

/** Leases due rows; a script looks at so many at most, and is run again where these were not enough. */
export async function claimRows(run: RunScript, request: ClaimRequest): Promise<readonly Row[]> {
  const { lease, limit, rows: keys, skipRecentMs = 0 } = request
  if (limit <= 0 || keys?.length === 0) return []

  const rows: Row[] = []
  let from = placeArguments(request.from)
  while (rows.length < limit) {
    const left = String(limit - rows.length)
    const values = [lease.owner, String(lease.ms), left, ...from, String(skipRecentMs)]
    const [place, claimed] = (
      keys === undefined
        ? await run(claimScript, values)
        : await run(claimKeysScript, [...values, ...keys.flatMap((key) => [key.eventId, key.destination])])
    ) as Answer
    rows.push(...claimedRows(claimed))
    if (!place) break
    from = place
  }
  return rows
}

/** Leases due rows of some types, among so many due rows. */
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
    String(window),
    ...types.flatMap(({ eventType, aggregateType }) => [eventType, aggregateType]),
  ])) as Answer
  return {
    rows: claimedRows(claimed),
    next: place ? placeBehind({ availableAt: Number(place[0]), seq: Number(place[1]) }) : undefined,
  }
}

/** Reads due rows for the owner of a lock; undefined once it has lost it. */
export async function pollPending(run: RunScript, request: PollRequest): Promise<readonly Row[] | undefined> {
  const { owner, limit, held, skipRecentMs = 0, renewMs } = request
  const rows: Row[] = []
  let from = placeArguments(request.from)
  do {
    const answer = (await run(pollScript, [
      owner.lock,
      owner.token,
      renewMs === undefined ? '' : String(renewMs),
      ...boundsArguments(boundsAround(held, rows)),
      String(Math.max(0, limit - rows.length)),
      ...from,
      String(skipRecentMs),
    ])) as Answer | null
    if (answer === null) return undefined

    const [place, read] = answer
    rows.push(...claimedRows(read))
    if (!place) break
    from = place
  } while (rows.length < limit)
  return rows
}

function placeArguments(place: DuePlace | undefined): readonly [at: string, member: string] {
  return place === undefined ? ['', '0'] : [String(place.availableAt), memberOf(place.seq)]
}

function boundsArguments(bounds: Bounds | null): readonly string[] {
  if (bounds === null) return ['', '', '', '']
  return [...placeArguments(bounds.low), ...placeArguments(bounds.high)]
}
