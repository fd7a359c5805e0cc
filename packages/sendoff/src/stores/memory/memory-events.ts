import { hasChanged } from '../../store/has-changed.ts'
import { isPending } from '../../store/event-status.ts'
import type {
  Bounds,
  ClaimRequest,
  ClaimTypesRequest,
  DuePlace,
  FencedRow,
  HeldRow,
  PollRequest,
  RowFilter,
} from '../../store/index.ts'
import { inDueOrder } from '../../store/due-order.ts'
import type { MemoryRow } from './memory-row.ts'
import { rowIdText } from './memory-row.ts'
import { FreeRows } from './free-rows.ts'
import type { KeyUse, MemoryMark, MemoryTables } from './memory-transaction.ts'
import { OrderedRows } from './ordered-rows.ts'

/**
 * The committed rows.
 *
 * A pending row that is not blocked is in one of two orders: free rows by destination and due time, leased
 * rows by the end of the lease. A claim first moves rows with expired leases from the second order to the
 * first. So it never examines rows that are held or settled. All pending rows are also kept in write order,
 * together and by ordering key.
 */
export class MemoryEvents implements MemoryTables {
  readonly #rows = new Map<string, MemoryRow>()
  readonly #idempotencyKeys = new Map<string, KeyUse>()
  readonly #marks = new Map<string, MemoryMark>()
  readonly #free = new FreeRows()
  readonly #leased = new OrderedRows((row) => row.lockedUntil ?? 0)
  readonly #orders = new Map<MemoryRow, FreeRows | OrderedRows>()
  readonly #pending = new OrderedRows(() => 0)
  readonly #pendingByKey = new Map<string, OrderedRows>()
  readonly #isPaused: (row: MemoryRow) => boolean

  constructor(isPaused: (row: MemoryRow) => boolean) {
    this.#isPaused = isPaused
  }

  findRow(id: string): MemoryRow | undefined {
    return this.#rows.get(id)
  }

  findIdempotencyKey(key: string): KeyUse | undefined {
    return this.#idempotencyKeys.get(key)
  }

  findMark(name: string): MemoryMark | undefined {
    return this.#marks.get(name)
  }

  /** Deletes up to `limit` marks of a consumer from before a time. Returns how many there were. */
  deleteMarks(consumer: string, before: number, limit: number): number {
    const old = [...this.#marks].filter(([, mark]) => mark.consumer === consumer && mark.receivedAt < before)
    const chosen = old.slice(0, limit)
    for (const [name] of chosen) this.#marks.delete(name)
    return chosen.length
  }

  rowsOf(eventId: string): readonly MemoryRow[] {
    return this.matching({ eventId }, Infinity)
  }

  keep(
    rows: ReadonlyMap<string, MemoryRow>,
    idempotencyKeys: ReadonlyMap<string, KeyUse>,
    afterCommit: readonly (() => void)[],
    marks: ReadonlyMap<string, MemoryMark>,
  ): void {
    // A nested transaction hands over its rows when it ends, behind later rows of the outer transaction.
    for (const row of [...rows.values()].sort((a, b) => a.seq - b.seq)) {
      this.#rows.set(rowIdText(row), row)
      this.#enter(row)
    }
    idempotencyKeys.forEach((use, key) => this.#idempotencyKeys.set(key, use))
    marks.forEach((mark, name) => this.#marks.set(name, mark))
    for (const change of afterCommit) change()
  }

  /** Returns the row if it is pending and the process still holds it. */
  held({ eventId, destination, deliveries, lockedBy }: HeldRow): MemoryRow | undefined {
    const row = this.#rows.get(rowIdText({ eventId, destination }))
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
    this.#rows.delete(rowIdText(row))
  }

  /** Deletes up to `limit` idempotency keys that were used before `time`, and returns how many. */
  deleteIdempotencyKeys(time: number, limit: number): number {
    let count = 0
    for (const [key, use] of this.#idempotencyKeys) {
      if (count >= limit) break
      if (use.createdAt >= time) continue
      this.#idempotencyKeys.delete(key)
      count += 1
    }
    return count
  }

  /** Returns the rows to claim or read, in the requested order. */
  due(request: ClaimRequest | PollRequest, now: number): MemoryRow[] {
    this.#freeLapsed(now)
    if ('lease' in request) {
      return request.rows === undefined ? this.#dueInOrder(request, now) : this.#dueOfIds(request, now)
    }
    return this.#dueInOrder(request, now)
  }

  /** Returns the rows of some types to claim, and the last row examined if there are more. */
  dueOfTypes(
    request: ClaimTypesRequest,
    now: number,
  ): { readonly rows: MemoryRow[]; readonly last: MemoryRow | undefined } {
    const { types, from, limit, window, destination } = request
    const looked = this.dueFrom(from, now, window, destination)
    const rows: MemoryRow[] = []
    for (const row of looked) {
      if (rows.length >= limit) break
      const isOfType = types?.some(
        ({ aggregateType, eventType }) => row.eventType === eventType && row.aggregateType === aggregateType,
      )
      if (isOfType !== false && this.#isWanted(row, request, now)) rows.push(row)
    }
    return { rows, last: looked.length < window ? undefined : looked.at(-1) }
  }

  /** Returns up to `count` rows that no process holds, for one destination or any, in due order. */
  dueFrom(from: DuePlace | undefined, now: number, count: number, destination?: string): MemoryRow[] {
    this.#freeLapsed(now)
    const rows: MemoryRow[] = []
    for (const row of this.#free.from(from?.availableAt ?? -Infinity, from?.seq ?? 0, destination)) {
      if (row.availableAt > now || rows.length >= count) break
      rows.push(row)
    }
    return rows
  }

  /** Returns pending rows in write order: those of an ordering key, or all. */
  pendingAsWritten(key?: string, afterSeq = 0): Iterable<MemoryRow> {
    const rows = key === undefined ? this.#pending : this.#pendingByKey.get(key)
    return rows?.from(0, afterSeq + 1) ?? []
  }

  /** Returns the ordering keys of pending rows. */
  pendingKeys(): Iterable<string> {
    return this.#pendingByKey.keys()
  }

  /** Counts a loss for every row within the bounds that no process has leased, for one destination or any. */
  countLosses({ low, high }: Bounds, destination?: string): void {
    for (const row of this.#free.from(low.availableAt, low.seq, destination)) {
      if (inDueOrder(row, high) > 0) break
      if (row.lockedBy !== null) continue
      row.losses += 1
      row.deliveries += 1
    }
  }

  /** Counts a loss for every row that is unchanged since an owner held it without a lease. */
  countLossesOf(held: readonly FencedRow[], counts: (row: MemoryRow) => boolean = () => true): void {
    for (const { seq, deliveries } of held) {
      const [row] = this.#pending.from(0, seq)
      const isSame = row?.seq === seq && row.deliveries === deliveries && row.lockedBy === null
      if (isSame && counts(row)) this.change(row, { losses: row.losses + 1, deliveries: row.deliveries + 1 })
    }
  }

  /** Returns the rows that match, in write order. */
  matching(filter: Omit<RowFilter, 'limit'>, limit: number): MemoryRow[] {
    const {
      status,
      eventType,
      aggregateType,
      aggregateId,
      tenantId,
      destination,
      eventId,
      afterSeq = 0,
    } = filter
    const eventIds = filter.eventIds && new Set(filter.eventIds)
    const rows: MemoryRow[] = []

    // The map keeps commit order, which is the order of `seq`: transactions run one at a time.
    for (const row of this.#rows.values()) {
      if (rows.length >= limit) break
      if (row.seq <= afterSeq) continue
      if (status !== undefined && !status.includes(row.status)) continue
      if (eventType !== undefined && row.eventType !== eventType) continue
      if (aggregateType !== undefined && row.aggregateType !== aggregateType) continue
      if (aggregateId !== undefined && row.aggregateId !== aggregateId) continue
      if (tenantId !== undefined && row.tenantId !== tenantId) continue
      if (destination !== undefined && row.destination !== destination) continue
      if (eventId !== undefined && row.eventId !== eventId) continue
      if (eventIds?.has(row.eventId) === false) continue
      rows.push(row)
    }
    return rows
  }

  #dueInOrder(request: ClaimRequest | PollRequest, now: number): MemoryRow[] {
    const { from, limit, destination } = request
    const rows: MemoryRow[] = []
    if (limit <= 0) return rows

    for (const row of this.#free.from(from?.availableAt ?? -Infinity, from?.seq ?? 0, destination)) {
      if (row.availableAt > now) break
      if (this.#isWanted(row, request, now)) rows.push(row)
      if (rows.length >= limit) break
    }
    return rows
  }

  #dueOfIds(request: ClaimRequest, now: number): MemoryRow[] {
    const { rows: ids = [], lease, from, limit } = request
    const rows = new Set<MemoryRow>()

    for (const id of ids) {
      const row = this.#rows.get(rowIdText(id))
      const order = row && this.#orders.get(row)
      if (row === undefined || order === undefined || row.availableAt > now) continue
      if (order === this.#leased && row.lockedBy !== lease.owner) continue
      if (hasChanged(row, id)) continue
      if (from !== undefined && inDueOrder(row, from) < 0) continue
      if (this.#isWanted(row, { ...request, destination: row.destination }, now)) rows.add(row)
    }
    return [...rows].sort(inDueOrder).slice(0, Math.max(0, limit))
  }

  #isWanted(
    row: MemoryRow,
    { skipRecentMs, destination }: Pick<ClaimRequest, 'skipRecentMs' | 'destination'>,
    now: number,
  ): boolean {
    if (destination !== undefined && row.destination !== destination) return false
    return !this.#isPaused(row) && (!skipRecentMs || row.createdAt <= now - skipRecentMs)
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
    if (!isPending(row.status)) return

    this.#pending.add(row)
    if (row.orderingKey !== null) this.#ofKey(row.orderingKey).add(row)
    if (row.blockedAt !== null) return
    order.add(row)
    this.#orders.set(row, order)
  }

  #leave(row: MemoryRow): void {
    this.#orders.get(row)?.delete(row)
    this.#orders.delete(row)
    this.#pending.delete(row)
    if (row.orderingKey === null) return
    const ofKey = this.#ofKey(row.orderingKey)
    ofKey.delete(row)
    if (ofKey.isEmpty) this.#pendingByKey.delete(row.orderingKey)
  }

  #ofKey(key: string): OrderedRows {
    const rows = this.#pendingByKey.get(key) ?? new OrderedRows(() => 0)
    this.#pendingByKey.set(key, rows)
    return rows
  }
}
