import type { PurgeCursor, PurgeRequest, PurgeResult } from '../../store/index.ts'
import { youngestAgeOf } from '../purge-cutoffs.ts'
import type { PostgresDriver, PostgresSession } from './drivers/postgres-driver.ts'
import type { PostgresTables } from './schema/postgres-tables.ts'
import { addTimePartitions, dropTimePartitions } from './schema/time-partition-upkeep.ts'
import { nextDayOfIds } from './sql/event-id-time.ts'
import { ageValues } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

type RowPlace = readonly [eventId: string, destination: string]

/** The rows and keys that a purge still has to examine. */
interface Progress {
  /** Rows behind this one are left; null if there are none. */
  readonly after: RowPlace | null
  readonly keysLeft: boolean
}

/**
 * Deletes one batch of old rows and one of old idempotency keys. The first batch drops time partitions in
 * which all rows are old.
 */
export async function purgeRows<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
  tables: PostgresTables,
  request: PurgeRequest,
): Promise<PurgeResult> {
  const droppedRows = request.cursor === undefined ? await purgeTimePartitions(driver, tables, request) : 0

  const progress = progressOf(request)
  // A purge with a limit of 0 would never end.
  const limit = Math.max(1, request.limit)
  const rows = await purgeWindow(driver, statements, progress.after, request, limit)
  const deletedIdempotencyKeys = progress.keysLeft ? await purgeKeys(driver, statements, request, limit) : 0
  return {
    deletedRows: droppedRows + rows.deleted,
    deletedIdempotencyKeys,
    cursor: cursorOf({ after: rows.next, keysLeft: deletedIdempotencyKeys === limit }),
  }
}

/**
 * Creates time partitions ahead and drops old ones, if the table has them. Returns how many rows were
 * dropped.
 */
async function purgeTimePartitions<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
  request: PurgeRequest,
): Promise<number> {
  if (tables.partitionBy === undefined) return 0

  await addTimePartitions(driver, tables)
  return dropTimePartitions(driver, tables, request)
}

async function purgeWindow(
  session: PostgresSession,
  { purge }: PostgresStatements,
  after: RowPlace | null,
  request: PurgeRequest,
  limit: number,
): Promise<{ deleted: number; next: RowPlace | null }> {
  const youngestAge = youngestAgeOf(request)
  if (after === null || youngestAge === undefined) return { deleted: 0, next: null }

  const values = [...after, String(limit), ...ageValues(request), String(youngestAge)]
  const [answer] = await session.run(purge, values)
  if (answer === undefined) return { deleted: 0, next: null }

  const [size, first, last, destination, areYoung, deleted] = answer as string[]
  if (Number(size) < limit) return { deleted: Number(deleted), next: null }

  // Ids rise with time: behind young rows all are young, up to those that a writer may be making now.
  const next = areYoung === 't' ? nextDayOfIds(first!, last!) : undefined
  return { deleted: Number(deleted), next: next === undefined ? [last!, destination!] : [next, ''] }
}

async function purgeKeys(
  session: PostgresSession,
  statements: PostgresStatements,
  { idempotencyKeysOlderThanMs }: PurgeRequest,
  limit: number,
): Promise<number> {
  if (idempotencyKeysOlderThanMs === undefined) return 0
  const [answer] = await session.run(statements.purgeKeys, [
    String(idempotencyKeysOlderThanMs),
    String(limit),
  ])
  return Number(answer![0])
}

function progressOf({ cursor }: PurgeRequest): Progress {
  return cursor === undefined ? { after: ['', ''], keysLeft: true } : (JSON.parse(cursor) as Progress)
}

function cursorOf(progress: Progress): PurgeCursor | undefined {
  return progress.after === null && !progress.keysLeft ? undefined : JSON.stringify(progress)
}
