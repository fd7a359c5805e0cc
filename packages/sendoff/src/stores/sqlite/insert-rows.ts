import { duplicateEventId } from '../../store/duplicate-event-id.ts'
import type { InsertRequest, InsertResult, Lease, NewRow } from '../../store/index.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteHandle } from './drivers/sqlite-client.ts'
import { transactionOf } from './drivers/transaction-view.ts'
import type { PreparedStatements } from './sql/statements.ts'
import { isUniqueViolation } from './sqlite-errors.ts'

/**
 * Adds rows to a transaction, all or none. The transaction is one of the store, or one that the writer has
 * open on its own handle.
 */
export async function insertRows(
  own: OwnDriver,
  { tx, rows, lease }: InsertRequest<SqliteHandle>,
): Promise<readonly InsertResult[]> {
  const transaction = transactionOf(tx)
  transaction?.assertOpen()
  const { statements } = own.session(transaction?.handle ?? tx)
  const results = insertAll(statements, rows, lease, own.now(), transaction?.keepsRows ?? false)
  const first = results.findIndex(({ kind }) => kind === 'inserted')
  if (first >= 0) transaction?.wrote(rows[first]!)
  return results
}

function insertAll(
  statements: PreparedStatements,
  rows: readonly NewRow[],
  lease: Lease | undefined,
  now: number,
  certain: boolean,
): readonly InsertResult[] {
  const [first] = rows
  if (first === undefined) return []
  if (rows.length === 1 && first.idempotencyKey === null)
    return [insertRow(statements, first, lease, now, certain)]

  statements.beginInsert.run()
  try {
    const results = insertEach(statements, rows, lease, now, certain)
    statements.keepInsert.run()
    return results
  } catch (error) {
    statements.undoInsert.run()
    statements.keepInsert.run()
    throw error
  }
}

function insertEach(
  statements: PreparedStatements,
  rows: readonly NewRow[],
  lease: Lease | undefined,
  now: number,
  certain: boolean,
): readonly InsertResult[] {
  // An event that fans out is several rows with one idempotency key, written together. They are not
  // duplicates of each other.
  const usedHere = new Map<string, string>()

  return rows.map((row) => {
    const { idempotencyKey: key, eventId } = row
    if (key !== null && usedHere.get(key) !== eventId) {
      const usedBy = useIdempotencyKey(statements, key, eventId, now)
      if (usedBy !== undefined) return { kind: 'duplicate', eventId: usedBy }
      usedHere.set(key, eventId)
    }
    return insertRow(statements, row, lease, now, certain)
  })
}

/** Returns the event that used the key before; undefined if none did. */
function useIdempotencyKey(
  statements: PreparedStatements,
  key: string,
  eventId: string,
  now: number,
): string | undefined {
  if (Number(statements.useIdempotencyKey.run(key, eventId, now).changes) > 0) return undefined
  return (statements.idempotencyKey.get(key) as { eventId: string }).eventId
}

function insertRow(
  statements: PreparedStatements,
  row: NewRow,
  lease: Lease | undefined,
  now: number,
  certain: boolean,
): InsertResult {
  const deliveries = row.claimed ? 1 : 0

  try {
    const { lastInsertRowid } = statements.insert.run(
      row.eventId,
      row.destination,
      row.eventType,
      row.aggregateType,
      row.aggregateId,
      row.tenantId,
      row.orderingKey,
      row.partitionNo,
      row.payload,
      row.contentType,
      row.headers,
      row.occurredAt,
      'at' in row.due ? Math.ceil(row.due.at) : Math.ceil(now + row.due.inMs),
      now,
      deliveries,
      row.claimed ? lease!.owner : null,
      row.claimed ? Math.ceil(now + lease!.ms) : null,
    )
    return { kind: 'inserted', seq: Number(lastInsertRowid), deliveries, certain }
  } catch (error) {
    throw isUniqueViolation(error) ? duplicateEventId(row, { cause: error }) : error
  }
}
