import type { ClaimRequest, DuePlace, Row } from '../../store.ts'
import { inDueOrder } from '../due-order.ts'
import type { PostgresSession, Value } from './postgres-driver.ts'
import { readRows } from './row-columns.ts'
import { keyValues } from './row-keys.ts'
import { roundedUp } from './statement-values.ts'
import type { PostgresStatements } from './statements.ts'

/** Takes due rows, in due order. */
export async function claimRows(
  session: PostgresSession,
  statements: PostgresStatements,
  request: ClaimRequest,
): Promise<readonly Row[]> {
  const { lease, limit, keys } = request
  if (limit <= 0 || keys?.length === 0) return []

  const wanted = [
    lease.owner,
    roundedUp(lease.ms),
    ...placeValues(request.from),
    String(limit),
    skipRecentValue(request.skipRecentMs),
  ]
  const answer =
    keys === undefined
      ? await session.run(statements.claim, wanted)
      : await session.run(statements.claimKeys, [...wanted, ...keyValues(keys)])
  // An UPDATE answers in whatever order it came across its rows.
  return readRows(answer).sort(inDueOrder)
}

/** The parameters of a statement that reads from a place on. */
export function placeValues(from: DuePlace | undefined): [at: string, seq: string] {
  return from === undefined ? ['-Infinity', '0'] : [String(from.availableAt), String(from.seq)]
}

export function skipRecentValue(skipRecentMs: number | undefined): Value {
  return skipRecentMs ? String(skipRecentMs) : null
}
