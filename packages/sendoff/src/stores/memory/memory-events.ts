import { isPending } from '../../event/status.ts'
import type { Bounds, ClaimRequest, HeldRow, PollRequest, RowFilter } from '../../store.ts'
import { inDueOrder } from '../due-order.ts'
import type { MemoryRow } from './memory-row.ts'
import { keyOf } from './memory-row.ts'
import type { MemoryTables } from './memory-transaction.ts'
import { OrderedRows } from './ordered-rows.ts'

/**
 * The committed rows.
 *
 * A pending row that is not blocked is in one of two orders: among the free ones by due time, or
 * among the leased ones by the end of the lease. A claim first moves rows whose lease ran out from
 * the second to the first, and so never looks at rows that are held or settled.
 */
export class MemoryEvents implements MemoryTables {
  readonly #rows = new Map<string, MemoryRow>()
  readonly #idempotencyKeys = new Map<string, string>()
  readonly #free = new OrderedRows((row) => row.availableAt)
  readonly #leased = new OrderedRows((row) => row.lockedUntil ?? 0)
  readonly #orders = new Map<MemoryRow, OrderedRows>()

  findRow(key: string): MemoryRow | undefined {
    return this.#rows.get(key)
  }

  findIdempotencyKey(key: string): string | undefined {
    return this.#idempotencyKeys.get(key)
  }

  keep(rows: ReadonlyMap<string, MemoryRow>, idempotencyKeys: ReadonlyMap<string, string>): void {
    // A nested transaction hands its rows on when it ends, behind later ones of the transaction around it.
    for (const row of [...rows.values()].sort((a, b) => a.seq - b.seq)) {
      this.#rows.set(keyOf(row), row)
      this.#enter(row)
    }
    idempotencyKeys.forEach((eventId, key) => this.#idempotencyKeys.set(key, eventId))
  }

  /** The row, if it is pending and still in the same hands. */
  held({ eventId, destination, deliveries, lockedBy }: HeldRow): MemoryRow | undefined {
    const row = this.#rows.get(keyOf({ eventId, destination }))
    const isHeld = row !== undefined && isPending(row.status) && row.deliveries === deliveries
    return isHeld && row.lockedBy === lockedBy ? row : undefined
  }

  change(row: MemoryRow, fields: Partial<MemoryRow>): void {
    this.#leave(row)
    Object.assign(row, fields)
    this.#enter(row)
  }

  delete(row: MemoryRow): void {
    this.#leave(row)
    this.#rows.delete(keyOf(row))
  }

  /** Rows to claim or read, in due order. */
  due(request: ClaimRequest | PollRequest, now: number): MemoryRow[] {
    this.#freeLapsed(now)
    return 'lease' in request && request.keys !== undefined
      ? this.#dueOfKeys(request, now)
      : this.#dueInOrder(request, now)
  }

  /** Counts a loss for every row within the bounds that nobody has leased. */
  countLosses({ low, high }: Bounds): void {
    for (const row of this.#free.from(low.availableAt, low.seq)) {
      if (inDueOrder(row, high) > 0) break
      if (row.lockedBy === null) row.losses += 1
    }
  }

  /** Rows that match, in write order. */
  matching(filter: Omit<RowFilter, 'limit'>, limit: number): MemoryRow[] {
    const { status, eventType, aggregateType, eventId, afterSeq = 0 } = filter
    const rows: MemoryRow[] = []

    // The map keeps the order of commits, which is the order of `seq`: transactions run one at a time.
    for (const row of this.#rows.values()) {
      if (rows.length >= limit) break
      if (row.seq <= afterSeq) continue
      if (status !== undefined && !status.includes(row.status)) continue
      if (eventType !== undefined && row.eventType !== eventType) continue
      if (aggregateType !== undefined && row.aggregateType !== aggregateType) continue
      if (eventId !== undefined && row.eventId !== eventId) continue
      rows.push(row)
    }
    return rows
  }

  #dueInOrder(request: ClaimRequest | PollRequest, now: number): MemoryRow[] {
    const { from, limit } = request
    const rows: MemoryRow[] = []
    if (limit <= 0) return rows

    for (const row of this.#free.from(from?.availableAt ?? -Infinity, from?.seq ?? 0)) {
      if (row.availableAt > now) break
      if (isWanted(row, request, now)) rows.push(row)
      if (rows.length >= limit) break
    }
    return rows
  }

  #dueOfKeys(request: ClaimRequest, now: number): MemoryRow[] {
    const { keys = [], lease, from, limit } = request
    const rows = new Set<MemoryRow>()

    for (const key of keys) {
      const row = this.#rows.get(keyOf(key))
      const order = row && this.#orders.get(row)
      if (row === undefined || order === undefined || row.availableAt > now) continue
      if (order === this.#leased && row.lockedBy !== lease.owner) continue
      if (from !== undefined && inDueOrder(row, from) < 0) continue
      if (isWanted(row, request, now)) rows.add(row)
    }
    return [...rows].sort(inDueOrder).slice(0, Math.max(0, limit))
  }

  #freeLapsed(now: number): void {
    const lapsed: MemoryRow[] = []
    for (const row of this.#leased.from(-Infinity, 0)) {
      if (row.lockedUntil! > now) break
      lapsed.push(row)
    }
    for (const row of lapsed) {
      this.#leave(row)
      this.#enter(row, this.#free)
    }
  }

  #enter(row: MemoryRow, order = row.lockedBy === null ? this.#free : this.#leased): void {
    if (!isPending(row.status) || row.blockedAt !== null) return

    order.add(row)
    this.#orders.set(row, order)
  }

  #leave(row: MemoryRow): void {
    this.#orders.get(row)?.delete(row)
    this.#orders.delete(row)
  }
}

function isWanted(row: MemoryRow, request: ClaimRequest | PollRequest, now: number): boolean {
  return !request.skipRecentMs || row.createdAt <= now - request.skipRecentMs
}
