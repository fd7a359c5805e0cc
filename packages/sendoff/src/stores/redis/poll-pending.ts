import type { Bounds, PollRequest, Row } from '../../store/index.ts'
import { boundsAround } from '../../store/due-order.ts'
import { destinationArgument, type DueAnswer, placeArguments } from './claim-rows.ts'
import type { RunScript } from './drivers/run-script.ts'
import { claimedRows } from './row-text.ts'
import { pollScript } from './scripts/claim-scripts.ts'

/** Reads due rows for the owner of a lock. Returns undefined if it has lost the lock. */
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
      destinationArgument(request.destination),
    ])) as DueAnswer | null
    if (answer === null) return undefined

    const [place, read] = answer
    rows.push(...claimedRows(read))
    if (!place) break
    from = place
  } while (rows.length < limit)
  return rows
}

function boundsArguments(bounds: Bounds | null): readonly string[] {
  if (bounds === null) return ['', '', '', '']
  return [...placeArguments(bounds.low), ...placeArguments(bounds.high)]
}
