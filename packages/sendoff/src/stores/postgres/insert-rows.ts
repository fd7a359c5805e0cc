import type { OutboxError } from '../../errors.ts'
import type { InsertRequest, InsertResult, Lease, NewRow } from '../../store/index.ts'
import { duplicateEventId } from '../../store/duplicate-event-id.ts'
import { statementBatches } from '../sql/statement-batches.ts'
import { textOfWakeUp, wakeUpForLater } from '../wake-up-text.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import { rowName } from './sql/row-ids.ts'
import { packedColumns } from './sql/packed-columns.ts'
import { roundedUp, textArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The most that one statement takes: the server has to keep all of it in memory. */
const most = { items: 1_000, characters: 8_388_608 }

/**
 * Adds rows to the open transaction, all or none. With a channel, the commit signals rows to other processes:
 * those that they can take now, and those that fall due later. The transaction stays usable after
 * `OUTBOX_DUPLICATE_EVENT_ID`. After any other error it can only be rolled back.
 */
export async function insertRows(
  session: PostgresSession,
  statements: PostgresStatements,
  request: InsertRequest<object>,
  channel: string | false,
): Promise<readonly InsertResult[]> {
  const { rows, lease, announce = false } = request
  const later = announce && channel ? wakeUpForLater(rows, Date.now()) : undefined
  if (later !== undefined) await session.run(statements.notify, [channel as string, textOfWakeUp(later)])

  const batches: InsertedBatch[] = []
  for (const batch of statementBatches(rows, most, ({ payload }) => payload.length)) {
    const inserted = await insertBatch(session, statements, batch, lease, signalFor(batch, request, channel))
    if (inserted.results !== undefined && batch.length === rows.length) return inserted.results

    batches.push(inserted)
    if (inserted.results === undefined) throw await duplicateAmong(session, statements, batches)
  }
  return batches.flatMap(({ results }) => results!)
}

/** The result of one statement. */
interface InsertedBatch {
  /** One for each row; undefined if an event id was used before. */
  readonly results: readonly InsertResult[] | undefined
  readonly rows: readonly NewRow[]
  /** The values that the statement returned for the added rows. */
  readonly written: readonly (readonly Value[])[]
  /** The idempotency keys that this batch used first, and their events. */
  readonly keys: ReadonlyMap<string, string>
}

/**
 * Undoes all batches. Returns the error for the first row of the last batch whose event id was used before.
 */
async function duplicateAmong(
  session: PostgresSession,
  statements: PostgresStatements,
  batches: readonly InsertedBatch[],
): Promise<OutboxError> {
  const gone = await session.run(statements.undoInsert, [
    textArray(batches.flatMap(({ rows }) => rows.map(({ eventId }) => eventId))),
    textArray(batches.flatMap(({ written }) => written.map(([, seq]) => seq!))),
    textArray(batches.flatMap(({ keys }) => [...keys.keys()])),
  ])
  const added = new Set(
    gone.map(([eventId, destination]) => rowName({ eventId: eventId!, destination: destination! })),
  )
  const { rows, keys } = batches.at(-1)!
  const duplicate = rows.find((row) => !isKeyDuplicate(row, keys) && !added.delete(rowName(row)))
  return duplicateEventId(duplicate ?? rows[0]!)
}

/**
 * Like `insertRows`, for a table in time partitions. There it needs one more statement to find out whether
 * rows are certain.
 */
export async function insertTimePartitionedRows(
  ...request: Parameters<typeof insertRows>
): Promise<readonly InsertResult[]> {
  const [session, statements, { rows }] = request
  const results = await insertRows(...request)
  const inserted = rows.find((_, index) => results[index]?.kind === 'inserted')
  if (inserted === undefined) return results

  const [answer] = await session.run(statements.certain, [inserted.eventId, inserted.destination])
  const certain = answer?.[0] === 'true'
  return results.map((result) => (result.kind === 'inserted' ? { ...result, certain } : result))
}

async function insertBatch(
  session: PostgresSession,
  statements: PostgresStatements,
  rows: readonly NewRow[],
  lease: Lease | undefined,
  signal: Signal,
): Promise<InsertedBatch> {
  const fields = rows.map((row) => fieldsOf(row, lease))
  if (rows.some((row) => row.idempotencyKey !== null)) {
    return insertKeyed(session, statements, rows, [...packedColumns(fields), ...signal])
  }

  const statement = statements[statementFor(rows)]
  const values = rows.length === 1 ? fields[0]!.slice(0, -1) : packedColumns(fields)
  const written = await session.run(statement, [...values, ...signal])
  // The statement may return rows in any order, but `seq` rises in the given order.
  const inOrder = written.length < 2 ? written : [...written].sort((a, b) => Number(a[1]) - Number(b[1]))
  return {
    results:
      written.length === rows.length
        ? rows.map((row, index) => insertedRow(row, inOrder[index]!))
        : undefined,
    rows,
    written,
    keys: noKeys,
  }
}

const noKeys: ReadonlyMap<string, string> = new Map()

function statementFor(rows: readonly NewRow[]) {
  const name = rows.length === 1 ? 'insert' : 'insertMany'
  return rows.every(({ hasNewId }) => hasNewId) ? (`${name}New` as const) : name
}

async function insertKeyed(
  session: PostgresSession,
  statements: PostgresStatements,
  rows: readonly NewRow[],
  values: readonly Value[],
): Promise<InsertedBatch> {
  const answer = await session.run(statements.insertKeyed, values)
  const written = answer.filter(([, seq]) => seq !== null)
  // The statement returns keys only if a row is missing. Otherwise all keys were used here.
  const keys =
    written.length === rows.length
      ? new Map(
          rows.flatMap((row) => (row.idempotencyKey === null ? [] : [[row.idempotencyKey, row.eventId]])),
        )
      : new Map(answer.flatMap(([, seq, eventId, key]) => (seq === null ? [[key!, eventId!]] : [])))
  const keyDuplicates = rows.filter((row) => isKeyDuplicate(row, keys))
  return {
    results:
      written.length + keyDuplicates.length === rows.length
        ? await keyedResults(session, statements, rows, written, keyDuplicates)
        : undefined,
    rows,
    written,
    keys,
  }
}

/**
 * Whether another event has used the key of a row before. An event that fans out is several rows with one
 * key.
 */
function isKeyDuplicate({ idempotencyKey, eventId }: NewRow, usedHere: ReadonlyMap<string, string>): boolean {
  return idempotencyKey !== null && usedHere.get(idempotencyKey) !== eventId
}

async function keyedResults(
  session: PostgresSession,
  statements: PostgresStatements,
  rows: readonly NewRow[],
  answer: readonly (readonly Value[])[],
  keyDuplicates: readonly NewRow[],
): Promise<readonly InsertResult[]> {
  const written = new Map(
    answer.map((values) => [rowName({ eventId: values[2]!, destination: values[3]! }), values]),
  )
  const usedBefore = textArray(keyDuplicates.map((row) => row.idempotencyKey))
  const used = keyDuplicates.length === 0 ? [] : await session.run(statements.usedKeys, [usedBefore])
  const usedBy = new Map(used.map(([key, eventId]) => [key!, eventId!]))
  const duplicates = new Set(keyDuplicates)
  return rows.map((row) =>
    duplicates.has(row)
      ? { kind: 'duplicate', eventId: usedBy.get(row.idempotencyKey!)! }
      : insertedRow(row, written.get(rowName(row))!),
  )
}

function insertedRow(row: NewRow, [certain, seq]: readonly Value[]): InsertResult {
  return { kind: 'inserted', seq: Number(seq), deliveries: deliveriesOf(row), certain: certain === 'true' }
}

// One value for each column of the statements, except the time of the insert.
function fieldsOf(row: NewRow, lease: Lease | undefined): Value[] {
  const { due, payload } = row

  return [
    row.eventId,
    row.destination,
    row.eventType,
    row.aggregateType,
    row.aggregateId,
    row.tenantId,
    row.orderingKey,
    row.partitionNo === null ? null : String(row.partitionNo),
    typeof payload === 'string' ? payload : null,
    typeof payload === 'string' ? null : base64Of(payload),
    row.contentType,
    row.headers,
    String(row.occurredAt),
    'at' in due ? String(Math.ceil(due.at)) : null,
    'at' in due ? null : roundedUp(due.inMs),
    String(deliveriesOf(row)),
    row.claimed ? lease!.owner : null,
    row.claimed ? roundedUp(lease!.ms) : null,
    row.idempotencyKey,
  ]
}

// Decoding ignores the line break. Without it, no bytes would look like no value.
function base64Of(bytes: Uint8Array): string {
  return `\n${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}`
}

function deliveriesOf(row: NewRow): number {
  return row.claimed ? 1 : 0
}

/** The channel of a signal and its text; null for none. */
type Signal = readonly [channel: string | null, text: string | null]

/**
 * One signal for all rows that another process could take now, judged by what this process knows. It names
 * their partitions, unless some have none, or the signal is for rows of earlier transactions, too.
 */
function signalFor(
  rows: readonly NewRow[],
  { announce, carriesSignal }: InsertRequest<object>,
  channel: string | false,
): Signal {
  if (carriesSignal && channel) return [channel, textOfWakeUp({})]
  const free = announce && channel ? rows.filter(isForOthers) : []
  if (free.length === 0) return [null, null]
  const partitions = new Set(free.map(({ partitionNo }) => partitionNo))
  return [
    channel as string,
    textOfWakeUp(partitions.has(null) ? {} : { partitions: [...(partitions as Set<number>)] }),
  ]
}

function isForOthers({ claimed, due }: NewRow): boolean {
  return !claimed && ('at' in due || due.inMs <= 0)
}
