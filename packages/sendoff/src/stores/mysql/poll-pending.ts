import { boundsAround, boundsOfEnds, sameBounds } from '../../store/due-order.ts'
import type { Bounds, PollRequest, Row } from '../../store/index.ts'
import type { LockingDriver, Value } from './drivers/mysql-driver.ts'
import { renewLock } from './mysql-locks.ts'
import { dueOptions, dueValues } from './sql/due-values.ts'
import { readRow } from './sql/row-columns.ts'
import { rowLimit } from './sql/row-limit.ts'
import { timeValue } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** Reads due rows for the owner of a lock and records what it then holds. An idle owner writes nothing. */
export async function pollPending(
  driver: LockingDriver,
  statements: MysqlStatements,
  request: PollRequest,
  byDestination: boolean,
): Promise<readonly Row[] | undefined> {
  const { owner, held, renewMs } = request
  if (renewMs !== undefined && !(await renewLock(driver, statements, { ...owner, ttlMs: renewMs }))) {
    return undefined
  }
  const options = dueOptions(request, byDestination)
  const { rows: preview } = await driver.run(statements.previewPoll(options), [
    ...dueValues(request, byDestination),
    owner.lock,
    owner.token,
  ])
  if (preview.length === 0) return undefined

  const [isAnyDue, ...ends] = preview[0]!
  const rows = Number(isAnyDue) === 0 ? [] : await dueRows()
  const bounds = boundsAround(held, rows)
  if (sameBounds(boundsOfEnds(ends), bounds)) return rows

  const recorded = await driver.run(statements.recordBounds, [...endsOf(bounds), owner.lock, owner.token])
  return recorded.affectedRows > 0 ? rows : undefined

  async function dueRows(): Promise<readonly Row[]> {
    const text = statements.pollDue(options, rowLimit(request.limit))
    return (await driver.run(text, dueValues(request, byDestination))).rows.map(readRow)
  }
}

function endsOf(bounds: Bounds | null): Value[] {
  if (bounds === null) return [null, null, null, null]
  const { low, high } = bounds
  return [timeValue(low.availableAt), low.seq, timeValue(high.availableAt), high.seq]
}
