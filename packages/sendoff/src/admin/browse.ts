import type { Clock } from '../clock.ts'
import { checkOptions, duration, oneOf, text } from '../options.ts'
import type {
  LookFilter,
  OutboxLooks,
  ScanOrder,
  ScanPlace,
  StoreDescription,
  StoredRow,
} from '../store/index.ts'
import { cursorOf, placeOfCursor } from './cursor.ts'
import { pageSize, scanWindow } from './limits.ts'

/** Options of `browse`. */
export interface BrowseOptions {
  /** Which events come first. Default: `newest`. */
  readonly order?: ScanOrder
  /** How many events a page has: 1 to 1,000. Default: 50. */
  readonly limit?: number
  /** The cursor of the page before. */
  readonly cursor?: string
  /** How long a search may take before it returns what it has found. Default: 1,000. */
  readonly budgetMs?: number
}

/** One page of events. */
export interface EventPage {
  readonly events: readonly StoredRow[]
  /** Pass it on to get the next page. Undefined if there is nothing more to examine. */
  readonly cursor: string | undefined
  /** Whether the time budget ended the search before the page was full. The cursor continues it. */
  readonly isCut: boolean
  /** The last event that the search examined, if there are more behind it. */
  readonly lookedTo: ScanPlace | undefined
}

/** Defaults of `browse`. */
export const browseDefaults = { order: 'newest', limit: 50, budgetMs: 1_000 } as const

const optionChecks = {
  order: oneOf('newest', 'oldest'),
  limit: pageSize,
  cursor: text,
  budgetMs: duration,
}

/** Returns one page of the events that match. */
export async function browse(
  { looks, clock, store }: { looks: OutboxLooks; clock: Clock; store: StoreDescription },
  filter: LookFilter,
  options: BrowseOptions,
): Promise<EventPage> {
  checkOptions('browse', options, optionChecks)
  const { order, limit, budgetMs } = { ...browseDefaults, ...options }
  const scope = ['events', store, filter, order]
  const after = options.cursor === undefined ? undefined : placeOfCursor(scope, options.cursor)
  const found = await search({ looks, clock, filter, order, after, limit, budgetMs })

  return {
    events: found.rows,
    cursor: found.next && cursorOf(scope, found.next),
    isCut: found.next !== undefined && found.rows.length < limit,
    lookedTo: found.next,
  }
}

/** A search that ends when it has found enough, has examined everything, or its time is over. */
export interface Search {
  readonly looks: OutboxLooks
  readonly clock: Clock
  readonly filter: LookFilter
  readonly order: ScanOrder
  readonly after?: ScanPlace | undefined
  readonly limit: number
  readonly budgetMs: number
}

/** Searches window by window, and stops before a window that would end after its time. */
export async function search({
  looks,
  clock,
  filter,
  order,
  after,
  limit,
  budgetMs,
}: Search): Promise<{ readonly rows: readonly StoredRow[]; readonly next: ScanPlace | undefined }> {
  const startedAt = clock.monotonic()
  const rows: StoredRow[] = []
  let place = after
  let spentMs = 0
  let longestMs = 0
  do {
    const answer = await looks.scan({
      filter,
      order,
      after: place,
      limit: Math.min(limit - rows.length, scanWindow),
      window: scanWindow,
    })
    rows.push(...answer.rows)
    place = answer.next
    const windowMs = clock.monotonic() - startedAt - spentMs
    spentMs += windowMs
    longestMs = Math.max(longestMs, windowMs)
  } while (place !== undefined && rows.length < limit && spentMs + longestMs < budgetMs)
  return { rows, next: place }
}
