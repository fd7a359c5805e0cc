import { partitionCount } from '../../store/partition-of.ts'
import type { LaneAnswer, LaneRequest, OneLaneRequest, OrderedRow, Row } from '../../store/index.ts'
import { placeValues } from './claim-rows.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import { readRows } from './sql/row-columns.ts'
import { roundedUp, textArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Finds keys and reads their rows, in one statement. */
export async function readLanes(
  session: PostgresSession,
  statements: PostgresStatements,
  request: LaneRequest,
): Promise<LaneAnswer | undefined> {
  const { owner, partitions, keys, except, from, window, limit, perKey, skipWaiting, renewMs } = request
  const mayFind = limit > 0 && partitions.length > 0
  const values = [
    owner.lock,
    owner.token,
    maskOf(partitions),
    textArray(keys),
    textArray(except),
    ...placeValues(from),
    String(mayFind ? window : 0),
    String(Math.max(0, limit)),
    String(perKey),
    skipWaiting === true ? '1' : '0',
  ]
  const answer =
    renewMs === undefined
      ? await session.run(statements.readLanes, values)
      : await session.run(statements.readLanesRenewing, [...values, roundedUp(renewMs)])
  // The others have null for a place, but a row.
  const next = answer.find((each) => each[lane.seq] === null)
  if (next === undefined) return undefined

  const [availableAt, seq] = next
  return {
    rows: readOrderedRows(
      answer.filter((each) => each !== next),
      lane,
    ),
    next: seq === null ? undefined : { availableAt: Number(availableAt), seq: Number(seq) },
  }
}

/** Reads all pending rows as one lane. */
export async function readAll(
  session: PostgresSession,
  statements: PostgresStatements,
  { owner, limit, afterSeq = 0, renewMs }: OneLaneRequest,
): Promise<readonly OrderedRow[] | undefined> {
  const values = [owner.lock, owner.token, String(afterSeq), String(Math.max(0, limit))]
  const answer =
    renewMs === undefined
      ? await session.run(statements.readAll, values)
      : await session.run(statements.readAllRenewing, [...values, roundedUp(renewMs)])
  if (answer.length === 0) return undefined

  return readOrderedRows(
    answer.filter((each) => each[oneLane.seq] !== null),
    oneLane,
  )
}

/** Where a row stands in an answer: its wait, and its columns, which begin with its number. */
interface Columns {
  readonly wait: number
  readonly seq: number
}

const lane: Columns = { wait: 2, seq: 3 }
const oneLane: Columns = { wait: 0, seq: 1 }

function readOrderedRows(
  answer: readonly (readonly Value[])[],
  { wait, seq }: Columns,
): readonly OrderedRow[] {
  const rows: (Row & { waitMs?: number })[] = readRows(answer, seq)
  rows.forEach((row, index) => (row.waitMs = Number(answer[index]![wait])))
  return rows as OrderedRow[]
}

function maskOf(partitions: readonly number[]): string {
  const mask = Buffer.alloc(partitionCount)
  for (const partition of partitions) mask[partition] = 1
  return mask.toString('hex')
}
