import type { PurgeRequest } from '../store/index.ts'

/** The times before which a purge deletes; null to keep all. */
export interface PurgeCutoffs {
  readonly done: number | null
  readonly dead: number | null
  readonly any: number | null
  readonly keys: number | null
}

export function purgeCutoffs(request: PurgeRequest, now: number): PurgeCutoffs {
  const { doneOlderThanMs, deadOlderThanMs, anyOlderThanMs, idempotencyKeysOlderThanMs } = request
  const before = (ageMs: number | undefined) => (ageMs === undefined ? null : now - ageMs)

  return {
    done: before(doneOlderThanMs),
    dead: before(deadOlderThanMs),
    any: before(anyOlderThanMs),
    keys: before(idempotencyKeysOlderThanMs),
  }
}

/**
 * Returns a time: a purge keeps rows written at or after it, whatever their state, since no row ends before
 * it is written.
 */
export function youngestCutoff({ done, dead, any }: PurgeCutoffs): number {
  return Math.max(done ?? -Infinity, dead ?? -Infinity, any ?? -Infinity)
}

/**
 * Returns the age below which a purge keeps rows whatever their state, since no row ends before it is
 * written. Returns undefined if it keeps all rows.
 */
export function youngestAgeOf({
  doneOlderThanMs,
  deadOlderThanMs,
  anyOlderThanMs,
}: PurgeRequest): number | undefined {
  const ages = [doneOlderThanMs, deadOlderThanMs, anyOlderThanMs].filter((age) => age !== undefined)
  return ages.length === 0 ? undefined : Math.min(...ages)
}
