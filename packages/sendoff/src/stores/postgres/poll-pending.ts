import type { Bounds, PollRequest, Row } from '../../store/index.ts'
import { boundsAround, boundsOfEnds, inDueOrder, sameBounds } from '../../store/due-order.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import { readRows } from './sql/row-columns.ts'
import { placeValues, roundedUp, skipRecentValue } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/**
 * Reads due rows for the owner of a lock and records what it then holds, in one statement if they are few. An
 * idle owner writes nothing.
 */
export async function pollPending(
  session: PostgresSession,
  statements: PostgresStatements,
  request: PollRequest,
  byDestination: boolean,
): Promise<readonly Row[] | undefined> {
  const { owner, limit, from, held, renewMs } = request
  const values = [
    owner.lock,
    owner.token,
    String(Math.max(0, limit)),
    ...placeValues(from),
    skipRecentValue(request.skipRecentMs),
    request.destination ?? null,
  ]
  const isForFew = renewMs === undefined && limit <= fewRows
  return isForFew ? pollRecording() : pollThenRecord()

  async function pollRecording(): Promise<readonly Row[] | undefined> {
    const statement = byDestination ? statements.pollDueRecordingOf : statements.pollDueRecording
    const answer = await session.run(statement, [...values, ...endsOf(held)])
    if (answer.length === 0) return undefined
    const due = answer.filter((values) => values[seqBehindTime] !== null)
    return readRows(due, seqBehindTime).sort(inDueOrder)
  }

  async function pollThenRecord(): Promise<readonly Row[] | undefined> {
    const [poll, pollRenewing] = byDestination
      ? [statements.pollDueOf, statements.pollDueRenewingOf]
      : [statements.pollDue, statements.pollDueRenewing]
    const answer =
      renewMs === undefined
        ? await session.run(poll, values)
        : await session.run(pollRenewing, [...values, roundedUp(renewMs)])
    const lock = answer.find((values) => values[seqBehindBounds] === null)
    if (lock === undefined) return undefined

    const rows = readRows(
      answer.filter((each) => each !== lock),
      seqBehindBounds,
    )
    const bounds = boundsAround(held, rows)
    if (!sameBounds(boundsOfEnds(lock), bounds)) {
      const recorded = await session.run(statements.recordHeld, [owner.lock, owner.token, ...endsOf(bounds)])
      // If the owner has the lock here, no other process had it in between: tokens are never used again.
      if (recorded.length === 0) return undefined
    }
    return rows.sort(inDueOrder)
  }
}

/**
 * A poll with this limit or less records what the owner holds in the statement that reads. A steady load
 * finds few rows with each poll, and a round trip costs more there than a second copy of the rows in the
 * server.
 */
const fewRows = 100

/** After the bounds of the lock, or the due time, come the columns of the row, beginning with `seq`. */
const seqBehindBounds = 4
const seqBehindTime = 1

function endsOf(bounds: Bounds | null): Value[] {
  if (bounds === null) return [null, null, null, null]
  const { low, high } = bounds
  return [low.availableAt, low.seq, high.availableAt, high.seq].map(String)
}
