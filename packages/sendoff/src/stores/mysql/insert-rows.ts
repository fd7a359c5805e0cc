import type { InsertResult, Lease, NewRow } from '../../store.ts'
import { duplicateEventId } from '../duplicate-event-id.ts'
import { insertBatches } from '../sql/insert-batches.ts'
import { insertedRow } from './insert-statements.ts'
import type { CallersSession, Value } from './mysql-driver.ts'
import { isDeadlock, isDuplicate, isOutsideTransaction, noLongerOpen, serverErrorOf } from './mysql-errors.ts'
import { durationValue, keyCondition, rowsOf, rowName, timeValue } from './statement-values.ts'
import { textOf } from './row-columns.ts'
import type { MysqlStatements } from './statements.ts'
import { forgetKeys, type KeyUses, useKeys } from './use-keys.ts'

/** How much goes into one statement: servers take 16 MB at once by default. */
const most = { rows: 1_000, characters: 2_097_152 }

/** Adds rows to the open transaction, all or none. */
export async function insertRows(
  session: CallersSession,
  statements: MysqlStatements,
  rows: readonly NewRow[],
  lease: Lease,
  certain: boolean,
): Promise<readonly InsertResult[]> {
  await session.assertInTransaction?.()
  const uses = await useKeys(session, statements, rows)
  const seqs = new Map<string, number>()
  try {
    const added = rows.filter((row) => usedBefore(row, uses) === undefined)
    for (const batch of insertBatches(added, most)) await insertBatch(session, statements, batch, lease, seqs)
  } catch (error) {
    if (!isDeadlock(error)) await undo(session, statements, uses, [...seqs.values()])
    if (isOutsideTransaction(error)) throw noLongerOpen(error)
    throw isDuplicate(error) ? duplicateEventId(duplicateOf(rows, error), { cause: error }) : error
  }

  return rows.map((row) => {
    const eventId = usedBefore(row, uses)
    return eventId === undefined
      ? { kind: 'inserted', seq: seqs.get(rowName(row))!, deliveries: row.claimed ? 1 : 0, certain }
      : { kind: 'duplicate', eventId }
  })
}

/** The event that has used the key of a row, where that is not the row's own writing. */
function usedBefore({ idempotencyKey, eventId }: NewRow, uses: KeyUses): string | undefined {
  const use = idempotencyKey === null ? undefined : uses.get(idempotencyKey)
  return use === undefined || (use.isFirst && use.eventId === eventId) ? undefined : use.eventId
}

/** Adds the rows in one statement, and their numbers to `seqs`. */
async function insertBatch(
  session: CallersSession,
  statements: MysqlStatements,
  rows: readonly NewRow[],
  lease: Lease,
  seqs: Map<string, number>,
): Promise<void> {
  const texts = rows.map(({ due, claimed }, index) =>
    insertedRow({ isFirst: index === 0, isTimed: 'at' in due, isClaimed: claimed }),
  )
  const values = rows.flatMap((row) => valuesOf(row, lease))
  const { insertId } = await session.run(statements.insert(texts.join()), values)
  if (rows.length === 1 && insertId !== undefined) {
    seqs.set(rowName(rows[0]!), insertId)
    return
  }

  const { rows: range } = await session.run(statements.insertedRange(rows.length))
  const [first, step, lastEventId] = range[0] ?? []
  if (textOf(lastEventId ?? null) === rows.at(-1)!.eventId) {
    rows.forEach((row, index) => seqs.set(rowName(row), Number(first) + index * Number(step)))
    return
  }
  const { condition, values: keys } = keyCondition(rows)
  const answer = await session.run(statements.insertedSeqs(condition), keys)
  for (const [seq, eventId, destination] of answer.rows) {
    seqs.set(rowName({ eventId: String(eventId), destination: String(destination) }), Number(seq))
  }
}

// Unlike others, these servers keep what a failed transaction has done so far, and commit it if they are told to.
async function undo(
  session: CallersSession,
  statements: MysqlStatements,
  uses: KeyUses,
  seqs: readonly number[],
): Promise<void> {
  try {
    if (seqs.length > 0) await session.run(statements.deleteRows(rowsOf(seqs), seqs.length))
    await forgetKeys(session, statements, uses)
  } catch {
    // The error that led here tells more.
  }
}

// One for each parameter of `insertedRow`.
function valuesOf(row: NewRow, lease: Lease): Value[] {
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
  if (row.claimed) values.push(lease.owner, durationValue(lease.ms))
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
