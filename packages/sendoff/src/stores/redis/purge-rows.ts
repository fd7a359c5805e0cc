import type { PurgeRequest, PurgeResult } from '../../store/index.ts'
import { purgeCursor, purgeProgress } from '../purge-progress.ts'
import { memberOf } from './redis-keyspace.ts'
import type { RunScript } from './drivers/run-script.ts'
import { purgeScript } from './scripts/upkeep-scripts.ts'

/** Deletes one batch of old rows with their history, and one of old idempotency keys. */
export async function purgeRows(run: RunScript, request: PurgeRequest): Promise<PurgeResult> {
  const { rowsAfter, keysLeft } = purgeProgress(request)
  // A purge with a limit of 0 would never end.
  const limit = Math.max(1, request.limit)
  const age = (ms: number | undefined) => (ms === undefined ? '' : String(ms))

  const [deletedRows, deletedIdempotencyKeys, last] = (await run(purgeScript, [
    rowsAfter === undefined ? '' : memberOf(rowsAfter),
    String(limit),
    age(request.doneOlderThanMs),
    age(request.deadOlderThanMs),
    age(request.anyOlderThanMs),
    keysLeft ? age(request.idempotencyKeysOlderThanMs) : '',
  ])) as [number, number, string | null]

  const cursor = purgeCursor({
    rowsAfter: last === null ? undefined : Number(last),
    keysLeft: deletedIdempotencyKeys === limit,
  })
  return { deletedRows, deletedIdempotencyKeys, cursor }
}
