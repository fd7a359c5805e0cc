import type { PurgeCursor, PurgeRequest } from '../store/index.ts'

/** What a purge has still to look at. */
export interface PurgeProgress {
  /** Rows behind this one; undefined when there are none. */
  readonly rowsAfter: number | undefined
  readonly keysLeft: boolean
}

export function purgeProgress({ cursor }: PurgeRequest): PurgeProgress {
  if (cursor === undefined) return { rowsAfter: 0, keysLeft: true }

  const { rowsAfter, keysLeft } = JSON.parse(cursor) as Partial<PurgeProgress>
  return { rowsAfter, keysLeft: keysLeft === true }
}

/** The place to go on from; undefined when nothing is left. */
export function purgeCursor({ rowsAfter, keysLeft }: PurgeProgress): PurgeCursor | undefined {
  return rowsAfter === undefined && !keysLeft ? undefined : JSON.stringify({ rowsAfter, keysLeft })
}
