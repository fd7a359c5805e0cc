import type { InsertResult, Lease, NewRow } from '../../store.ts'
import { duplicateEventId } from '../duplicate-event-id.ts'
import { insertBatches } from '../sql/insert-batches.ts'
import type { PostgresSession, Value } from './postgres-driver.ts'
import { serverErrorOf } from './postgres-errors.ts'
import { rowName } from './row-keys.ts'
import { roundedUp, textArray } from './statement-values.ts'
import type { PostgresStatements } from './statements.ts'

/** How much goes into one statement: what the server has to hold in memory at once. */
const most = { rows: 1_000, characters: 8_388_608 }

/** Adds rows to the open transaction. An error leaves it fit for a rollback only. */
export async function insertRows(
  session: PostgresSession,
  statements: PostgresStatements,
  rows: readonly NewRow[],
  lease: Lease,
  announce: boolean,
): Promise<readonly InsertResult[]> {
  const results: InsertResult[] = []
  for (const batch of insertBatches(rows, most)) {
    try {
      const added = await insertBatch(session, statements, batch, lease, announce && isForOthers(batch))
      if (added.length === rows.length) return added
      results.push(...added)
    } catch (error) {
      throw isDuplicateId(error) ? duplicateEventId(duplicateOf(batch, error), { cause: error }) : error
    }
  }
  return results
}

/** As `insertRows` on a partitioned table, where a further statement tells whether rows are certain. */
export async function insertPartitionedRows(
  ...request: Parameters<typeof insertRows>
): Promise<readonly InsertResult[]> {
  const [session, statements, rows] = request
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
  lease: Lease,
  announce: boolean,
): Promise<readonly InsertResult[]> {
  if (rows.some((row) => row.idempotencyKey !== null)) {
    return insertKeyed(session, statements, rows, lease, announce)
  }
  if (rows.length === 1) {
    const statement = announce ? statements.insertAnnounced : statements.insert
    const [written] = await session.run(statement, fieldsOf(rows[0]!, lease))
    return [insertedRow(rows[0]!, written!)]
  }

  const statement = announce ? statements.insertManyAnnounced : statements.insertMany
  const written = await session.run(statement, [jsonOf(rows, lease)])
  // Whatever order they are answered in, `seq` is that in which they were given.
  const inOrder = [...written].sort((a, b) => Number(a[1]) - Number(b[1]))
  return rows.map((row, index) => insertedRow(row, inOrder[index]!))
}

async function insertKeyed(
  session: PostgresSession,
  statements: PostgresStatements,
  rows: readonly NewRow[],
  lease: Lease,
  announce: boolean,
): Promise<readonly InsertResult[]> {
  const statement = announce ? statements.insertKeyedAnnounced : statements.insertKeyed
  const answer = await session.run(statement, [jsonOf(rows, lease)])
  const written = new Map(
    answer.map((values) => [rowName({ eventId: values[2]!, destination: values[3]! }), values]),
  )

  const usedBefore = rows.flatMap((row) =>
    row.idempotencyKey === null || written.has(rowName(row)) ? [] : [row.idempotencyKey],
  )
  const usedBy =
    usedBefore.length === 0
      ? new Map<Value, Value>()
      : new Map(
          (await session.run(statements.usedKeys, [textArray(usedBefore)])).map(([key, id]) => [key!, id!]),
        )
  return rows.map((row) => {
    const values = written.get(rowName(row))
    return values === undefined
      ? { kind: 'duplicate', eventId: usedBy.get(row.idempotencyKey)! }
      : insertedRow(row, values)
  })
}

function insertedRow(row: NewRow, [certain, seq]: readonly Value[]): InsertResult {
  return { kind: 'inserted', seq: Number(seq), deliveries: deliveriesOf(row), certain: certain === 'true' }
}

// One for each column of the statements but the time of the insert.
function fieldsOf(row: NewRow, lease: Lease): Value[] {
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
    row.claimed ? lease.owner : null,
    row.claimed ? roundedUp(lease.ms) : null,
  ]
}

// JSON has an escape for halves of surrogate pairs, which PostgreSQL refuses; as plain text they
// would be replaced on the way.
function jsonOf(rows: readonly NewRow[], lease: Lease): string {
  return JSON.stringify(
    rows.map((row) => {
      const fields = fieldsOf(row, lease)
      fields[8] = fields[8]?.toWellFormed() ?? null
      return [...fields, row.idempotencyKey]
    }),
  )
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

function deliveriesOf(row: NewRow): number {
  return row.claimed ? 1 : 0
}

// Whether somebody else could take one of them now, as far as can be told from here.
function isForOthers(rows: readonly NewRow[]): boolean {
  return rows.some(({ claimed, due }) => !claimed && ('at' in due || due.inMs <= 0))
}

function isDuplicateId(error: unknown): boolean {
  const { code, detail } = serverErrorOf(error) ?? {}
  return code === '23505' && (detail === '' || detail?.includes('(event_id, destination)') === true)
}

function duplicateOf(rows: readonly NewRow[], error: unknown): NewRow {
  const { detail = '' } = serverErrorOf(error) ?? {}
  return rows.find((row) => detail.includes(`=(${row.eventId}, ${row.destination})`)) ?? rows[0]!
}
