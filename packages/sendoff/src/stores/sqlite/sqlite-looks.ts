import {
  type FailureGroup,
  type LookFilter,
  maxParkedKeys,
  type OldestDue,
  type OutboxLooks,
  type ScanAnswer,
  type ScanPlace,
  type ScanRequest,
  scanScope,
  type Tally,
  type TallyGroup,
  type TallyPart,
} from '../../store/index.ts'
import { EventStatus } from '../../store/event-status.ts'
import { highestText, idRange, scanAnswer } from '../sql/scan-answer.ts'
import { tallyPart } from '../sql/tally-part.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteStatement, SqliteValue } from './drivers/sqlite-client.ts'
import type { SqliteTables } from './schema/sqlite-tables.ts'
import { readStoredRow } from './sql/row-columns.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** The table of an SQLite store, as operators see it. */
export function sqliteLooks(own: OwnDriver, { table }: SqliteTables): OutboxLooks {
  return {
    describe: () =>
      own.alone(({ handle }) => {
        const files = handle.prepare('pragma database_list').all() as { name: string; file: string }[]
        const file = files.find(({ name }) => name === 'main')?.file || ':memory:'
        return { kind: 'sqlite', name: `${file}#${table}` }
      }),
    tally: ({ bound }) => own.snapshot((statements, now) => tally(statements, bound, now)),
    bound: () =>
      own.read(({ seqRange }, now) => ({ at: now, seq: (seqRange.get() as { highest: number }).highest })),
    scan: (request) => own.snapshot((statements) => scan(statements, request)),
    failures: ({ newest }) =>
      own.snapshot((statements) => {
        const groups = statements.failures.all(newest) as FailureGroup[]
        const examined = groups.reduce((sum, { count }) => sum + count, 0)
        const isComplete = examined < newest || countOf(statements.countAllDead) <= newest
        return { groups: groups.map((group) => ({ ...group })), examined, isComplete }
      }),
  }
}

function tally(statements: PreparedStatements, bound: number, now: number): Tally {
  const { highest, lowest } = statements.seqRange.get() as { highest: number; lowest: number }
  const pending = countOf(statements.countAllPending)
  const oldest = statements.oldestDue.get(now) as OldestDue | undefined
  return {
    at: now,
    pending: part(statements.tallyPending, bound, pending),
    dead: part(statements.tallyDead, bound, countOf(statements.countAllDead)),
    // Every number from the lowest to the highest was given to a row, and few rows are deleted in between.
    all: part(statements.tallyAll, bound, highest - lowest + 1),
    blocked: Math.min(bound, pending - countOf(statements.countUnblocked)),
    parked: (statements.parkedKeys.all(maxParkedKeys) as { name: string }[]).map(({ name }) => name),
    oldestDue: oldest && { ...oldest },
  }
}

function part(statement: SqliteStatement, bound: number, estimate: number): TallyPart {
  const groups = statement.all(bound + 1) as TallyGroup[]
  return tallyPart(
    groups.map((group) => ({ ...group })),
    bound,
    estimate,
  )
}

function countOf(statement: SqliteStatement): number {
  return (statement.get() as { count: number }).count
}

function scan(statements: PreparedStatements, request: ScanRequest): ScanAnswer {
  const { filter, order, after, limit, window } = request
  const scope = scanScope(filter)
  const isNewest = order === 'newest'
  const matching = lookMatching(filter)
  if (scope === 'all') {
    const start = after ? [after.eventId, after.destination] : isNewest ? [highestText, ''] : ['', '']
    const range = idsFrom(start[0]!, idRange(filter), isNewest)
    const read = isNewest ? statements.scanAllNewest : statements.scanAllOldest
    const ending = isNewest ? statements.windowAllNewest : statements.windowAllOldest
    const end = placeOf(ending.get(...range, ...start, window - 1))
    const last = end ? [end.eventId, end.destination] : isNewest ? ['', ''] : [highestText, highestText]
    const rows = read.all(...range, ...start, ...last, ...matching, limit + 1)
    return scanAnswer(rows.map(readStoredRow), limit, end)
  }
  const [ending, read] = statementsOf(statements, scope, isNewest)
  const key = scope === 'key' ? [filter.orderingKey!] : []
  const start = after?.seq ?? (isNewest ? Number.MAX_SAFE_INTEGER : 0)
  const end = placeOf(ending.get(...key, start, window - 1))
  const last = end?.seq ?? (isNewest ? 0 : Number.MAX_SAFE_INTEGER)
  const rows = read.all(...key, start, last, ...matching, limit + 1)
  return scanAnswer(rows.map(readStoredRow), limit, end)
}

// SQLite does not seek by the pair of event id and destination if the event id has limits of its own. It
// would walk through all rows from the end of the range to the start of the window.
function idsFrom(start: string, [lowest, highest]: readonly [string, string], isNewest: boolean): string[] {
  if (isNewest) return [lowest, start < highest ? start : highest]
  return [start > lowest ? start : lowest, highest]
}

function statementsOf(
  statements: PreparedStatements,
  scope: 'key' | 'pending' | 'dead' | 'blocked',
  isNewest: boolean,
): [ending: SqliteStatement, read: SqliteStatement] {
  const index = scope === 'key' ? 'Key' : scope === 'dead' ? 'Dead' : 'Pending'
  return isNewest
    ? [statements[`window${index}Newest`], statements[`scan${index}Newest`]]
    : [statements[`window${index}Oldest`], statements[`scan${index}Oldest`]]
}

function placeOf(row: unknown): ScanPlace | undefined {
  return row === undefined ? undefined : { ...(row as ScanPlace) }
}

// The parameters called `lookMatching` in the statements.
function lookMatching(filter: LookFilter): SqliteValue[] {
  const { status = Object.values(EventStatus), text = null, bound, errorClass } = filter
  const twice = [
    filter.eventType,
    filter.destination,
    filter.aggregateType,
    filter.aggregateId,
    filter.tenantId,
    filter.orderingKey,
    filter.since,
    filter.until,
    errorClass === undefined ? undefined : `${errorClass}:`,
    text,
  ].flatMap((value) => [value ?? null, value ?? null])
  return [
    status.reduce<number>((mask, code) => mask | (1 << code), 0),
    filter.isBlocked ? 1 : null,
    ...twice,
    text,
    bound?.seq ?? Number.MAX_SAFE_INTEGER,
    bound?.at ?? Number.MAX_SAFE_INTEGER,
  ]
}
