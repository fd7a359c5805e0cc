import type { CountFilter, FailedAttempt, RowFilter, RowId, StoredRow } from '../../store/index.ts'
import { storedRow } from './row-text.ts'
import type { RunScript } from './drivers/run-script.ts'
import { attemptsScript, countsScript, queryScript } from './scripts/query-scripts.ts'

type Answer = readonly [after: string | null, found: number, rows: readonly Parameters<typeof storedRow>[0][]]

/** Returns the rows that match. Each script examines a thousand. */
export async function queryRows(run: RunScript, asked: RowFilter): Promise<readonly StoredRow[]> {
  // The script finds the rows of each named id.
  const filter = { ...asked, ...(asked.eventIds && { eventIds: [...new Set(asked.eventIds)] }) }
  const rows: StoredRow[] = []
  let after: string | null = String(filter.afterSeq ?? 0)
  while (after !== null && rows.length < filter.limit) {
    const values = [after, String(filter.limit - rows.length), '0', JSON.stringify(filter)]
    const answer = (await run(queryScript, values)) as Answer
    after = answer[0]
    rows.push(...answer[2].map(storedRow))
  }
  return rows
}

/**
 * Returns how many rows match. Counts by status alone are known at once; others are counted a thousand rows
 * at a time.
 */
export async function countRows(run: RunScript, filter: CountFilter): Promise<number> {
  const { status, ...others } = filter
  if (Object.values(others).every((value) => value === undefined)) {
    const counts = (await run(countsScript, [])) as (string | null)[]
    const wanted = status === undefined ? counts.keys() : new Set(status)
    return [...wanted].reduce((sum, each) => sum + Number(counts[each] ?? 0), 0)
  }

  let count = 0
  let after: string | null = '0'
  while (after !== null) {
    const values = [after, String(Number.MAX_SAFE_INTEGER), '1', JSON.stringify(filter)]
    const answer = (await run(queryScript, values)) as Answer
    after = answer[0]
    count += answer[1]
  }
  return count
}

/** Returns the failed attempts at one row, oldest first. */
export async function failedAttempts(
  run: RunScript,
  { eventId, destination }: RowId,
): Promise<readonly FailedAttempt[]> {
  const text = (await run(attemptsScript, [eventId, destination])) as string | null
  const entries = JSON.parse(`[${text ?? ''}]`) as [number, number, string, string | false][]
  return entries.map(([attempts, failedAt, error, lockedBy]) => ({
    attempts,
    failedAt,
    error,
    lockedBy: lockedBy === false ? null : lockedBy,
  }))
}
