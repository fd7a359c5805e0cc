import type { PurgeCursor, PurgeRequest } from '../store/index.ts'

/** The rows and keys that a purge still has to examine. */
export interface PurgeProgress {
  /** Rows behind this one are left; undefined if there are none. */
  readonly rowsAfter: number | undefined
  readonly keysLeft: boolean
}

export function purgeProgress({ cursor }: PurgeRequest): PurgeProgress {
  if (cursor === undefined) return { rowsAfter: 0, keysLeft: true }

  const { rowsAfter, keysLeft } = JSON.parse(cursor) as Partial<PurgeProgress>
  return { rowsAfter, keysLeft: keysLeft === true }
}

/** Returns where the next batch begins; undefined if nothing is left. */
export function purgeCursor({ rowsAfter, keysLeft }: PurgeProgress): PurgeCursor | undefined {
  return rowsAfter === undefined && !keysLeft ? undefined : JSON.stringify({ rowsAfter, keysLeft })
}
