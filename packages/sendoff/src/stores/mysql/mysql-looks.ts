import type { EventStatus } from '../../store/event-status.ts'
import {
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
import { idRange, scanAnswer } from '../sql/scan-answer.ts'
import { tallyPart } from '../sql/tally-part.ts'
import type { MysqlSession, Rows, StoreDriver, Value } from './drivers/mysql-driver.ts'
import type { MysqlTables } from './schema/mysql-tables.ts'
import { readStoredRow, textOf } from './sql/row-columns.ts'
import { pendingQueues } from './sql/row-conditions.ts'
import { rowLimit } from './sql/row-limit.ts'
import { numberList, timeValue } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The table of a MySQL store, as operators see it. */
export function mysqlLooks(
  driver: StoreDriver,
  statements: MysqlStatements,
  { database, table }: MysqlTables,
): OutboxLooks {
  return {
    async describe() {
      const name = database ?? textOf((await driver.run(statements.database)).rows[0]![0])
      return { kind: 'mysql', name: `${name}.${table}` }
    },
    tally: ({ bound }) => tally(driver, statements, bound),
    async bound() {
      const [at, seq] = (await driver.run(statements.lookBound)).rows[0]!
      return { at: Number(at), seq: Number(seq) }
    },
    scan: (request) => scan(driver, statements, request),
    async failures({ newest }) {
      const { rows } = await driver.run(statements.failures(rowLimit(newest)))
      const groups = rows.map(([eventType, destination, error, count, firstAt, lastAt, sample]) => ({
        eventType: textOf(eventType)!,
        destination: textOf(destination)!,
        error: textOf(error)!,
        count: Number(count),
        firstAt: Number(firstAt),
        lastAt: Number(lastAt),
        sample: textOf(sample)!,
      }))
      const examined = groups.reduce((sum, { count }) => sum + count, 0)
      if (examined < newest) return { groups, examined, isComplete: true }
      const more = await driver.run(statements.moreDead(rowLimit(newest)))
      return { groups, examined, isComplete: more.rows.length === 0 }
    },
  }
}

async function tally(session: MysqlSession, statements: MysqlStatements, bound: number): Promise<Tally> {
  const part = async (source: 'pending' | 'dead' | 'all') => {
    const { rows } = await session.run(statements.tally(source, rowLimit(bound + 1)))
    const groups = groupsOf(rows)
    const counted = groups.reduce((sum, { count }) => sum + count, 0)
    const estimate = counted <= bound ? 0 : estimateOf((await session.run(statements.estimate(source))).rows)
    return tallyPart(groups, bound, estimate)
  }
  const parked = await session.run(statements.firstParkedKeys(maxParkedKeys))
  const blocked = await session.run(statements.countBlocked(rowLimit(bound)))
  const [due] = (await session.run(statements.oldestDue)).rows
  const [at] = (await session.run(statements.lookBound)).rows[0]!

  return {
    at: Number(at),
    pending: await part('pending'),
    dead: await part('dead'),
    all: await part('all'),
    blocked: Number(blocked.rows[0]![0]),
    parked: parked.rows.map(([name]) => textOf(name)!),
    oldestDue: due && {
      eventId: textOf(due[0])!,
      destination: textOf(due[1])!,
      eventType: textOf(due[2])!,
      availableAt: Number(due[3]),
    },
  }
}

function groupsOf(rows: Rows): readonly TallyGroup[] {
  return rows.map(([status, eventType, destination, count]) => ({
    status: Number(status) as EventStatus,
    eventType: textOf(eventType)!,
    destination: textOf(destination)!,
    count: Number(count),
  }))
}

// The answer of EXPLAIN has the column `rows` at the ninth place in MariaDB. MySQL has one column more before
// it.
function estimateOf(rows: Rows): number {
  const [answer = []] = rows
  return Number(answer.length > 10 ? answer[9] : answer[8]) || 0
}

/**
 * First finds the end of the window, then reads as far as that. Rows that come or go in between do no harm:
 * the second statement examines everything up to the end.
 */
async function scan(
  session: MysqlSession,
  statements: MysqlStatements,
  { filter, order, after, limit, window }: ScanRequest,
): Promise<ScanAnswer> {
  const source = scanScope(filter)
  const direction = order === 'newest' ? 'desc' : 'asc'
  const behind = source === 'all' ? behindId(filter, direction, after) : behindSeq(direction, after)
  const key = source === 'key' ? [Buffer.from(filter.orderingKey!)] : []
  const repeated = (values: readonly Value[]) =>
    source === 'pending' ? pendingQueues.flatMap(() => values) : values

  const ending = statements.lookWindow(source, direction, behind.condition, rowLimit(window))
  const [found] = (await session.run(ending, repeated([...key, ...behind.values]))).rows
  const end: ScanPlace | undefined = found && {
    seq: Number(found[0]),
    eventId: textOf(found[1])!,
    destination: textOf(found[2])!,
  }
  const upTo = source === 'all' ? upToId(direction, end) : upToSeq(direction, end)
  const parts = [behind, upTo, lookMatching(filter)]
  const condition = parts.map((part) => part.condition).join(' and ')
  const reading = statements.lookRows(source, direction, condition, rowLimit(limit + 1))
  const { rows } = await session.run(reading, repeated([...key, ...parts.flatMap((part) => part.values)]))
  return scanAnswer(rows.map(readStoredRow), limit, end)
}

interface Condition {
  readonly condition: string
  readonly values: readonly Value[]
}

function behindSeq(direction: 'asc' | 'desc', after: ScanPlace | undefined): Condition {
  if (after === undefined) return { condition: 'true', values: [] }
  return { condition: `seq ${direction === 'desc' ? '<' : '>'} ?`, values: [after.seq] }
}

function upToSeq(direction: 'asc' | 'desc', end: ScanPlace | undefined): Condition {
  if (end === undefined) return { condition: 'true', values: [] }
  return { condition: `seq ${direction === 'desc' ? '>=' : '<='} ?`, values: [end.seq] }
}

// Neither server searches an index for pairs, so the first column has a condition of its own.
function behindId(filter: LookFilter, direction: 'asc' | 'desc', after: ScanPlace | undefined): Condition {
  const range = { condition: 'event_id >= ? and event_id <= ?', values: idRange(filter) }
  if (after === undefined) return range
  const { eventId, destination } = after
  const sign = direction === 'desc' ? '<' : '>'
  return {
    condition: `${range.condition} and event_id ${sign}= ? and (event_id ${sign} ? or destination ${sign} ?)`,
    values: [...range.values, eventId, eventId, destination],
  }
}

function upToId(direction: 'asc' | 'desc', end: ScanPlace | undefined): Condition {
  if (end === undefined) return { condition: 'true', values: [] }
  const { eventId, destination } = end
  const sign = direction === 'desc' ? '>' : '<'
  return {
    condition: `event_id ${sign}= ? and (event_id ${sign} ? or destination ${sign}= ?)`,
    values: [eventId, eventId, destination],
  }
}

/** The conditions of a filter, and their parameters. */
function lookMatching(filter: LookFilter): Condition {
  const { status, isBlocked, since, until, errorClass, text, bound } = filter
  const conditions: Condition[] = columns.flatMap(([column, name]) => {
    const value = filter[name]
    return value === undefined ? [] : [{ condition: `${column} = ?`, values: [value] }]
  })
  const add = (condition: string, ...values: readonly Value[]) => conditions.push({ condition, values })
  if (status !== undefined) add(status.length === 0 ? 'false' : `status in (${numberList(status)})`)
  if (isBlocked) add('blocked_at is not null')
  if (since !== undefined) add('created_at >= ?', timeValue(since))
  if (until !== undefined) add('created_at < ?', timeValue(until))
  if (errorClass !== undefined) {
    add("left(concat(last_error, ':'), char_length(?)) = ?", `${errorClass}:`, `${errorClass}:`)
  }
  if (text !== undefined) add('(instr(last_error, ?) > 0 or instr(payload, ?) > 0)', text, text)
  if (bound !== undefined) {
    add('seq <= ? and coalesce(done_at, blocked_at, created_at) <= ?', bound.seq, timeValue(bound.at))
  }
  return {
    condition: conditions.map((each) => each.condition).join(' and ') || 'true',
    values: conditions.flatMap((each) => each.values),
  }
}

const columns = [
  ['event_id', 'eventId'],
  ['event_type', 'eventType'],
  ['destination', 'destination'],
  ['aggregate_type', 'aggregateType'],
  ['aggregate_id', 'aggregateId'],
  ['tenant_id', 'tenantId'],
  ['ordering_key', 'orderingKey'],
] as const
