import { EventStatus } from '../../store/event-status.ts'
import {
  type FailuresAnswer,
  type LookFilter,
  maxParkedKeys,
  type OutboxLooks,
  type ScanAnswer,
  type ScanPlace,
  type ScanRequest,
  scanScope,
  type Tally,
  type TallyGroup,
} from '../../store/index.ts'
import { highestText, idRange, scanAnswer } from '../sql/scan-answer.ts'
import { tallyPart } from '../sql/tally-part.ts'
import type { PostgresDriver, PostgresSession, Value } from './drivers/postgres-driver.ts'
import type { PostgresTables } from './schema/postgres-tables.ts'
import { readStoredRow } from './sql/row-columns.ts'
import { numberArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/**
 * The table of a PostgreSQL store, as operators see it.
 *
 * With old statistics, PostgreSQL overrates the cost of some of these statements. It then compiles them,
 * which takes half a second. They read few rows, so compiling never pays.
 */
export function postgresLooks<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
  { schema, table }: PostgresTables,
): OutboxLooks {
  const uncompiled = <Result>(work: (session: PostgresSession) => Promise<Result>) =>
    driver.transaction(async (tx) => {
      const session = driver.session(tx)
      await session.run(statements.withoutCompiling)
      return work(session)
    })

  return {
    async describe() {
      const [[database] = []] = await driver.run(statements.database)
      return { kind: 'postgres', name: `${database}.${schema}.${table}` }
    },
    tally: ({ bound }) => uncompiled((session) => tally(session, statements, bound)),
    async bound() {
      const [[at, seq] = []] = await driver.run(statements.lookBound)
      return { at: Number(at), seq: Number(seq) }
    },
    scan: (request) => uncompiled((session) => scan(session, statements, request)),
    failures: ({ newest }) => uncompiled((session) => failures(session, statements, newest)),
  }
}

async function tally(
  session: PostgresSession,
  statements: PostgresStatements,
  bound: number,
): Promise<Tally> {
  const counted = [String(bound + 1)]
  const pending = await session.run(statements.tallyPending, counted)
  const attention = await session.run(statements.tallyAttention, counted)
  const all = await session.run(statements.tallyAll, counted)
  const parked = await session.run(statements.parkedKeys, [String(maxParkedKeys)])
  const [due] = await session.run(statements.oldestDue)
  const [[at] = []] = await session.run(statements.lookBound)
  const estimates = new Map(
    (await session.run(statements.estimates)).map(([kind, count]) => [kind, Number(count)]),
  )
  // One of both is exact, unless there are many dead and many pending rows.
  const blocked = Math.max(blockedAmong(pending), blockedAmong(attention))
  const isFull = countOf(attention) > bound
  const dead =
    isFull && blockedAmong(attention) > 0 ? await session.run(statements.tallyDead, counted) : attention

  return {
    at: Number(at),
    pending: tallyPart(groupsOf(pending), bound, estimates.get('pending') ?? 0),
    dead: tallyPart(groupsOf(dead).filter(isDead), bound, (estimates.get('attention') ?? 0) - blocked),
    all: tallyPart(groupsOf(all), bound, estimates.get('all') ?? 0),
    blocked,
    parked: parked.map(([name]) => name!),
    oldestDue: due && {
      eventId: due[0]!,
      destination: due[1]!,
      eventType: due[2]!,
      availableAt: Number(due[3]),
    },
  }
}

type TallyAnswer = readonly (readonly Value[])[]

function countOf(answer: TallyAnswer): number {
  return groupsOf(answer).reduce((sum, { count }) => sum + count, 0)
}

function blockedAmong(answer: TallyAnswer): number {
  return answer.reduce((sum, [, , , , blocked]) => sum + Number(blocked), 0)
}

function isDead({ status }: TallyGroup): boolean {
  return status === EventStatus.DEAD
}

function groupsOf(answer: TallyAnswer): readonly TallyGroup[] {
  return answer.map(([status, eventType, destination, count]) => ({
    status: Number(status) as EventStatus,
    eventType: eventType!,
    destination: destination!,
    count: Number(count),
  }))
}

/**
 * First finds the end of the window, then reads as far as that. Rows that come or go in between do no harm:
 * the second statement examines everything up to the end.
 */
async function scan(
  session: PostgresSession,
  statements: PostgresStatements,
  { filter, order, after, limit, window }: ScanRequest,
): Promise<ScanAnswer> {
  const isNewest = order === 'newest'
  const name = `${scopeNames[scanScope(filter)]}${isNewest ? 'Newest' : 'Oldest'}` as const
  const [low, high] = idRange(filter)
  const start = placeValues(after ?? edgeOf(low, high, isNewest))
  const begin = [low, high, ...start]
  const key = filter.orderingKey ?? ''

  const [found] = await session.run(statements[`window${name}`], [...begin, String(window), key])
  const end: ScanPlace | undefined = found && {
    seq: Number(found[0]),
    eventId: found[1]!,
    destination: found[2]!,
  }
  const last = placeValues(end ?? (isNewest ? lowest : highest))
  const values = [...begin, String(limit + 1), key, ...lookMatching(filter), ...last]
  const rows = await session.run(statements[`scan${name}`], values)
  return scanAnswer(rows.map(readStoredRow), limit, end)
}

const scopeNames = { pending: 'Pending', dead: 'Dead', blocked: 'Blocked', key: 'Key', all: 'All' } as const
const lowest: ScanPlace = { eventId: '', destination: '', seq: 0 }
const highest: ScanPlace = {
  eventId: highestText,
  destination: highestText,
  seq: Number.MAX_SAFE_INTEGER,
}

// PostgreSQL seeks the pair of event id and destination to start behind, and not the range of ids. From
// the end of the table, it would walk through all rows on the way to the range.
function edgeOf(low: string, high: string, isNewest: boolean): ScanPlace {
  return isNewest ? { ...highest, eventId: high } : { ...lowest, eventId: low.slice(0, -1) }
}

function placeValues({ eventId, destination, seq }: ScanPlace): Value[] {
  return [eventId, destination, String(seq)]
}

// The parameters called `lookMatching` in the statements.
function lookMatching(filter: LookFilter): Value[] {
  const { status = Object.values(EventStatus), errorClass, bound } = filter
  const numbers = [filter.since, filter.until].map((value) => (value === undefined ? null : String(value)))
  return [
    numberArray(status),
    filter.eventType ?? null,
    filter.destination ?? null,
    filter.aggregateType ?? null,
    filter.aggregateId ?? null,
    filter.tenantId ?? null,
    filter.orderingKey ?? null,
    ...numbers,
    errorClass === undefined ? null : `${errorClass}:`,
    filter.text ?? null,
    bound === undefined ? null : String(bound.seq),
    bound === undefined ? null : String(bound.at),
  ]
}

async function failures(
  session: PostgresSession,
  statements: PostgresStatements,
  newest: number,
): Promise<FailuresAnswer> {
  const answer = await session.run(statements.failures, [String(newest)])
  const groups = answer.map(([eventType, destination, error, count, firstAt, lastAt, sample]) => ({
    eventType: eventType!,
    destination: destination!,
    error: error!,
    count: Number(count),
    firstAt: Number(firstAt),
    lastAt: Number(lastAt),
    sample: sample!,
  }))
  const examined = groups.reduce((sum, { count }) => sum + count, 0)
  return {
    groups,
    examined,
    isComplete: examined < newest || !(await hasMoreDead(session, statements, newest)),
  }
}

async function hasMoreDead(
  session: PostgresSession,
  { windowDeadNewest }: PostgresStatements,
  count: number,
): Promise<boolean> {
  const values = ['', '', ...placeValues(highest), String(count + 1), '']
  return (await session.run(windowDeadNewest, values)).length > 0
}
