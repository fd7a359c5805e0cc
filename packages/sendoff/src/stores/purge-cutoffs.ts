import type { PurgeRequest } from '../store/index.ts'

/** What lies before these times is deleted; null where all is kept. */
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

/** Rows written from this time on are kept whatever their state: nothing ends before it begins. */
export function youngestCutoff({ done, dead, any }: PurgeCutoffs): number {
  return Math.max(done ?? -Infinity, dead ?? -Infinity, any ?? -Infinity)
}

/** Younger rows are kept whatever their state: nothing ends before it begins. Undefined where all are kept. */
export function youngestAgeOf({
  doneOlderThanMs,
  deadOlderThanMs,
  anyOlderThanMs,
}: PurgeRequest): number | undefined {
  const ages = [doneOlderThanMs, deadOlderThanMs, anyOlderThanMs].filter((age) => age !== undefined)
  return ages.length === 0 ? undefined : Math.min(...ages)
}
