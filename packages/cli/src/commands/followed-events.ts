import type { EventPage, StoredRow } from 'sendoff/admin'

/** What `tail` has to tell. */
export type EventChange =
  | { readonly kind: 'written' | 'changed' | 'gone'; readonly row: StoredRow }
  /** More events were written between two looks than are read. */
  | { readonly kind: 'missed' }

/** How events are read. */
export interface FollowedReads {
  newest(limit: number, cursor?: string): Promise<EventPage>
  one(row: StoredRow): Promise<StoredRow | undefined>
  /** How many of the events that exist already are told. */
  readonly first: number
}

/** How many of the newest events a look reads. An event of a long transaction appears behind newer ones. */
const pageSize = 200
/** How many pages a look reads at most. */
const maxPages = 10
/** How many pending events that are no longer among the newest are looked at in each look. */
const maxOlder = 50
/** How many events are remembered. */
const maxKnown = 10_000

/** Follows the newest events, and the states of those that were told. */
export class FollowedEvents {
  readonly #reads: FollowedReads
  /** Events by row id, the oldest first. */
  readonly #known = new Map<string, StoredRow>()
  /** Pending events that were told, by row id, the one that was looked at longest ago first. */
  readonly #open = new Map<string, StoredRow>()
  /** Events that were there before, and are not told. */
  readonly #untold = new Set<string>()
  #hasLooked = false

  constructor(reads: FollowedReads) {
    this.#reads = reads
  }

  /** Returns what has changed since the last look, in write order. */
  async look(): Promise<readonly EventChange[]> {
    const { rows, isMissing } = await this.#newest()
    const changes: EventChange[] = isMissing ? [{ kind: 'missed' }] : []
    const seen = new Set<string>()
    for (const row of rows.toSorted((a, b) => a.seq - b.seq)) {
      seen.add(idOf(row))
      const change = this.#note(row)
      if (change !== undefined) changes.push(change)
    }
    changes.push(...(await this.#older(seen)))
    this.#forget()
    return changes
  }

  async #newest(): Promise<{ readonly rows: readonly StoredRow[]; readonly isMissing: boolean }> {
    if (!this.#hasLooked) {
      this.#hasLooked = true
      const { first } = this.#reads
      const { events } = await this.#reads.newest(Math.max(pageSize, first))
      for (const row of events.slice(first)) {
        this.#known.set(idOf(row), row)
        this.#untold.add(idOf(row))
      }
      return { rows: events.slice(0, first), isMissing: false }
    }
    const rows: StoredRow[] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const found = await this.#reads.newest(pageSize, cursor)
      rows.push(...found.events)
      cursor = found.cursor
      if (cursor === undefined || found.events.some((row) => this.#known.has(idOf(row)))) {
        return { rows, isMissing: false }
      }
    }
    return { rows, isMissing: this.#known.size > 0 }
  }

  #note(row: StoredRow): EventChange | undefined {
    const id = idOf(row)
    const before = this.#known.get(id)
    this.#known.set(id, row)
    if (this.#untold.has(id)) return undefined
    if (isOpen(row)) this.#open.set(id, row)
    else this.#open.delete(id)
    if (before === undefined) return { kind: 'written', row }
    return hasChanged(before, row) ? { kind: 'changed', row } : undefined
  }

  /** Looks at pending events that the newest pages no longer hold, some at a time. */
  async #older(seen: ReadonlySet<string>): Promise<readonly EventChange[]> {
    const older = [...this.#open].filter(([id]) => !seen.has(id)).slice(0, maxOlder)
    const changes: EventChange[] = []
    for (const [id, before] of older) {
      const row = await this.#reads.one(before)
      this.#open.delete(id)
      if (row === undefined) {
        this.#known.delete(id)
        changes.push({ kind: 'gone', row: before })
        continue
      }
      const change = this.#note(row)
      if (change !== undefined) changes.push(change)
    }
    return changes
  }

  #forget(): void {
    for (const id of this.#known.keys()) {
      if (this.#known.size <= maxKnown) return
      this.#known.delete(id)
      this.#open.delete(id)
      this.#untold.delete(id)
    }
  }
}

function idOf({ eventId, destination }: StoredRow): string {
  return `${eventId}/${destination}`
}

function isOpen({ status }: StoredRow): boolean {
  return status === 0 || status === 2
}

function hasChanged(before: StoredRow, after: StoredRow): boolean {
  return (
    before.status !== after.status ||
    before.attempts !== after.attempts ||
    (before.blockedAt === null) !== (after.blockedAt === null)
  )
}
