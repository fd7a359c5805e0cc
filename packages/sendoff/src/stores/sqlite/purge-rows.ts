import type { PurgeRequest, PurgeResult } from '../../store/index.ts'
import type { PurgeCutoffs } from '../purge-cutoffs.ts'
import { purgeCutoffs, youngestCutoff } from '../purge-cutoffs.ts'
import { purgeCursor, purgeProgress } from '../purge-progress.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Deletes one batch of old rows and one of old idempotency keys. */
export function purgeRows(own: OwnDriver, request: PurgeRequest): Promise<PurgeResult> {
  return own.write((statements, now) => purgeBatch(statements, request, now))
}

function purgeBatch(statements: PreparedStatements, request: PurgeRequest, now: number): PurgeResult {
  const { rowsAfter, keysLeft } = purgeProgress(request)
  const cutoffs = purgeCutoffs(request, now)
  // A purge with a limit of 0 would never end.
  const limit = Math.max(1, request.limit)

  const rows = purgeWindow(statements, rowsAfter, cutoffs, limit)
  const keys = keysLeft ? purgeIdempotencyKeys(statements, cutoffs.keys, limit) : 0
  return {
    deletedRows: rows.deleted,
    deletedIdempotencyKeys: keys,
    cursor: purgeCursor({ rowsAfter: rows.next, keysLeft: keys === limit }),
  }
}

interface Window {
  readonly size: number
  readonly last: number | null
  readonly oldest: number | null
}

function purgeWindow(
  statements: PreparedStatements,
  after: number | undefined,
  cutoffs: PurgeCutoffs,
  limit: number,
): { deleted: number; next?: number } {
  const youngest = youngestCutoff(cutoffs)
  if (after === undefined || youngest === -Infinity) return { deleted: 0 }

  const { size, last, oldest } = statements.purgeWindow.get(after, limit) as Window
  // Write order is the order of `seq`: behind a whole window of young rows all are young.
  if (last === null || oldest === null || oldest >= youngest) return { deleted: 0 }

  const within = [after, last, cutoffs.done, cutoffs.dead, cutoffs.any]
  statements.purgeAttempts.run(...within)
  const deleted = Number(statements.purge.run(...within).changes)
  return size < limit ? { deleted } : { deleted, next: last }
}

function purgeIdempotencyKeys(statements: PreparedStatements, cutoff: number | null, limit: number): number {
  return cutoff === null ? 0 : Number(statements.purgeIdempotencyKeys.run(cutoff, limit).changes)
}
