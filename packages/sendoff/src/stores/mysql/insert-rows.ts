import { duplicateEventId } from '../../store/duplicate-event-id.ts'
import type { InsertResult, Lease, NewRow } from '../../store/index.ts'
import { statementBatches } from '../sql/statement-batches.ts'
import type { CallersSession, Value } from './drivers/mysql-driver.ts'
import { forgetIdempotencyKeys, type KeyUses, useIdempotencyKeys } from './idempotency-keys.ts'
import { isDeadlock, isDuplicate, isOutsideTransaction, noLongerOpen, serverErrorOf } from './mysql-errors.ts'
import { insertedRow } from './sql/insert-statements.ts'
import { textOf } from './sql/row-columns.ts'
import { rowIdCondition, rowName } from './sql/row-ids.ts'
import { alwaysTaken } from './sql/statement-size.ts'
import { durationValue, rowsOf, timeValue } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

const mostRows = 1_000

// Ids, names and the marks around them. Few rows have more.
const charactersBesidePayload = 1_000

/** What an insert has to know of its transaction and of the server. */
export interface InsertConditions {
  /** Whether the rows are kept whenever the transaction is. */
  readonly certain: boolean
  /** How many characters the parameters of one statement may have. */
  readonly mostCharacters: () => Promise<number>
}

/** Adds rows to the open transaction, all or none. */
export async function insertRows(
  session: CallersSession,
  statements: MysqlStatements,
  rows: readonly NewRow[],
  lease: Lease | undefined,
  { certain, mostCharacters }: InsertConditions,
): Promise<readonly InsertResult[]> {
  if (session.assertInTransaction !== undefined) await session.assertInTransaction()
  const isKeyed = rows.some(({ idempotencyKey }) => idempotencyKey !== null)
  const uses = isKeyed ? await useIdempotencyKeys(session, statements, rows) : noUses
  const seqs: number[] = []
  try {
    const added = isKeyed ? rows.filter((row) => usedBefore(row, uses) === undefined) : rows
    for (const batch of await batchesOf(added, mostCharacters)) {
      seqs.push(...(await insertBatch(session, statements, batch, lease)))
    }
  } catch (error) {
    if (!isDeadlock(error)) await undo(session, statements, uses, seqs)
    if (isOutsideTransaction(error)) throw noLongerOpen(error)
    throw isDuplicate(error) ? duplicateEventId(duplicateOf(rows, error), { cause: error }) : error
  }

  let place = 0
  return rows.map((row) => {
    const eventId = usedBefore(row, uses)
    return eventId === undefined
      ? { kind: 'inserted', seq: seqs[place++]!, deliveries: row.claimed ? 1 : 0, certain }
      : { kind: 'duplicate', eventId }
  })
}

const noUses: KeyUses = new Map()

async function batchesOf(
  rows: readonly NewRow[],
  mostCharacters: () => Promise<number>,
): Promise<Iterable<readonly NewRow[]>> {
  if (rows.length < 2) return rows.length === 0 ? [] : [rows]

  const charactersOf = ({ payload }: NewRow) => payload.length + charactersBesidePayload
  const total = rows.reduce((sum, row) => sum + charactersOf(row), 0)
  const characters = total <= alwaysTaken ? alwaysTaken : await mostCharacters()
  return statementBatches(rows, { items: mostRows, characters }, charactersOf)
}

/** Returns the event that used the key of a row before, unless it is the row's own. */
function usedBefore({ idempotencyKey, eventId }: NewRow, uses: KeyUses): string | undefined {
  const use = idempotencyKey === null ? undefined : uses.get(idempotencyKey)
  return use === undefined || (use.isFirst && use.eventId === eventId) ? undefined : use.eventId
}

/** Adds the rows in one statement. Returns their numbers. */
async function insertBatch(
  session: CallersSession,
  statements: MysqlStatements,
  rows: readonly NewRow[],
  lease: Lease | undefined,
): Promise<readonly number[]> {
  const insertId =
    rows.length === 1
      ? await insertOnly(session, statements, rows[0]!, lease)
      : await insertMany(session, statements, rows, lease)
  if (rows.length === 1 && insertId !== undefined) return [insertId]

  const { rows: range } = await session.run(statements.insertedRange(rows.length))
  const [first, step, lastEventId] = range[0] ?? []
  if (textOf(lastEventId ?? null) === rows.at(-1)!.eventId) {
    return rows.map((_, index) => Number(first) + index * Number(step))
  }
  const { condition, values } = rowIdCondition(rows)
  const answer = await session.run(statements.insertedSeqs(condition), values)
  const seqs = new Map(
    answer.rows.map(([seq, eventId, destination]) => [
      rowName({ eventId: String(eventId), destination: String(destination) }),
      Number(seq),
    ]),
  )
  return rows.map((row) => seqs.get(rowName(row))!)
}

async function insertOnly(
  session: CallersSession,
  statements: MysqlStatements,
  row: NewRow,
  lease: Lease | undefined,
): Promise<number | undefined> {
  const text = statements.insertOnly({ isTimed: 'at' in row.due, isClaimed: row.claimed })
  const values = valuesOf(row, lease)
  const { insertId } = await (session.runPrepared?.(text, values) ?? session.run(text, values))
  return insertId
}

async function insertMany(
  session: CallersSession,
  statements: MysqlStatements,
  rows: readonly NewRow[],
  lease: Lease | undefined,
): Promise<undefined> {
  const texts = rows.map(({ due, claimed }, index) =>
    insertedRow({ isFirst: index === 0, isTimed: 'at' in due, isClaimed: claimed }),
  )
  const values = rows.flatMap((row) => valuesOf(row, lease))
  await session.run(statements.insert(texts.join()), values)
}

// Unlike other databases, these servers keep what a transaction has done before a statement failed, and
// commit it on request.
async function undo(
  session: CallersSession,
  statements: MysqlStatements,
  uses: KeyUses,
  seqs: readonly number[],
): Promise<void> {
  try {
    if (seqs.length > 0) await session.run(statements.deleteRows(rowsOf(seqs), seqs.length))
    await forgetIdempotencyKeys(session, statements, uses)
  } catch {
    // The error that led here says more.
  }
}

// One for each parameter of `insertedRow`.
function valuesOf(row: NewRow, lease: Lease | undefined): Value[] {
  const { due, payload } = row
  const values: Value[] = [
    row.eventId,
    row.destination,
    row.eventType,
    row.aggregateType,
    row.aggregateId,
    row.tenantId,
    row.orderingKey,
    row.partitionNo,
    typeof payload === 'string' ? payload : null,
    typeof payload === 'string' ? null : bufferOf(payload),
    row.contentType,
    row.headers,
    timeValue(row.occurredAt),
    'at' in due ? timeValue(due.at) : durationValue(due.inMs),
  ]
  if (row.claimed) values.push(lease!.owner, durationValue(lease!.ms))
  return values
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

// The server names the values of the index, joined by a hyphen.
function duplicateOf(rows: readonly NewRow[], error: unknown): NewRow {
  const { message = '' } = serverErrorOf(error) ?? {}
  return rows.find((row) => message.includes(`'${row.eventId}-${row.destination}'`)) ?? rows[0]!
}
