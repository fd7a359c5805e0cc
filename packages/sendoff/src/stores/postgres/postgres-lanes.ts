import { partitionCount } from '../../store/partition-of.ts'
import type {
  HoldRequest,
  LaneAnswer,
  LaneRequest,
  OneLaneRequest,
  OrderedRow,
  OutboxLanes,
  Row,
} from '../../store/index.ts'
import type { DestinationIndexes } from '../sql/destination-indexes.ts'
import { heldText } from '../sql/held-text.ts'
import type { PostgresDriver, PostgresSession, Value } from './drivers/postgres-driver.ts'
import { readRows } from './sql/row-columns.ts'
import { placeValues, roundedUp, textArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'
import { lockKeys } from './write-locks.ts'

/** The lanes of a PostgreSQL store. Writers lock their keys in transactions of `driver`. */
export function postgresLanes<Tx extends object>(
  session: PostgresSession,
  statements: PostgresStatements,
  driver: PostgresDriver<Tx>,
  destinations: DestinationIndexes,
): OutboxLanes<Tx> {
  return {
    lock: ({ tx, keys }) => lockKeys(driver.session(tx), statements, keys),
    read: (request) => readLanes(session, statements, request, destinations.cover(request)),
    readAll: (request) => readOneLane(session, statements, request),
    hold: (request) => holdRows(session, statements, request),
  }
}

/** Finds keys and reads their rows, in one statement. */
async function readLanes(
  session: PostgresSession,
  statements: PostgresStatements,
  request: LaneRequest,
  byDestination: boolean,
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
    request.destination ?? null,
  ]
  const [read, readRenewing] = byDestination
    ? [statements.readLanesOf, statements.readLanesRenewingOf]
    : [statements.readLanes, statements.readLanesRenewing]
  const answer =
    renewMs === undefined
      ? await session.run(read, values)
      : await session.run(readRenewing, [...values, roundedUp(renewMs)])
  // Only the row with the place to continue has no `seq`.
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
async function readOneLane(
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

async function holdRows(
  session: PostgresSession,
  { holdRows: statement }: PostgresStatements,
  { owner: { lock, token }, rows }: HoldRequest,
): Promise<boolean> {
  return (await session.run(statement, [lock, token, heldText(rows)])).length > 0
}

/** The positions of a row's columns in a result: its wait, and where its own columns begin, with `seq`. */
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
