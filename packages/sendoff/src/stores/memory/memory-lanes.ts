import type { LaneRequest, OrderedRow, OutboxLanes } from '../../store/index.ts'
import { partitionOfRow } from '../../store/partition-of.ts'
import type { MemoryControls } from './memory-controls.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryLocks } from './memory-locks.ts'
import { asRow, type MemoryRow } from './memory-row.ts'
import type { MemoryTx } from './memory-transaction.ts'

/** The lanes of a memory store. */
export function memoryLanes(
  now: () => number,
  events: MemoryEvents,
  locks: MemoryLocks,
  controls: MemoryControls,
): OutboxLanes<MemoryTx> {
  return {
    // Transactions run one at a time: commit order is write order.
    async lock() {},

    async read(request) {
      const { owner, renewMs } = request
      if (!locks.isOwner(owner)) return undefined
      if (renewMs !== undefined) await locks.renew({ ...owner, ttlMs: renewMs })

      const time = now()
      const looked = events.dueFrom(request.from, time, request.window, request.destination)
      const { found, keys } = findKeys(looked, request)
      const isWhole = found.length < request.limit
      const last = isWhole ? (looked.length < request.window ? undefined : looked.at(-1)) : found.at(-1)

      const rows = [...new Set([...request.keys, ...keys])].flatMap((key) => laneOf(key, request, time))
      const keyless = found
        .filter((row) => row.orderingKey === null)
        .map((row) => ordered(row, time, request.destination))
      return {
        rows: [...rows, ...keyless.filter(({ waitMs }) => waitMs === 0)],
        next: last && { availableAt: last.availableAt, seq: last.seq },
      }
    },

    async readAll({ owner, limit, afterSeq, renewMs }) {
      if (!locks.isOwner(owner)) return undefined
      if (renewMs !== undefined) await locks.renew({ ...owner, ttlMs: renewMs })
      return firstOf(events.pendingAsWritten(undefined, afterSeq), limit, now(), {})
    },

    async hold({ owner, rows }) {
      if (!locks.isOwner(owner)) return false
      locks.recordHeld(owner.lock, rows)
      return true
    },
  }

  function laneOf(key: string, request: LaneRequest, time: number): OrderedRow[] {
    return firstOf(events.pendingAsWritten(key), request.perKey, time, request)
  }

  function firstOf(
    rows: Iterable<MemoryRow>,
    limit: number,
    time: number,
    { skipWaiting = false, destination }: Pick<LaneRequest, 'skipWaiting' | 'destination'>,
  ): OrderedRow[] {
    const first: OrderedRow[] = []
    for (const row of rows) {
      if (first.length >= limit) break
      if (isStillToCome(row, time) || !isFor(destination, row)) continue
      const read = ordered(row, time, destination)
      if (!skipWaiting || read.waitMs === 0) first.push(read)
    }
    return first
  }

  function ordered(row: MemoryRow, time: number, destination?: string): OrderedRow {
    const isParked = row.orderingKey !== null && controls.parkedKeys(destination).has(row.orderingKey)
    const isHeldUp = row.blockedAt !== null || controls.isPaused(row) || isParked
    const leaseMs = row.lockedBy === null ? 0 : row.lockedUntil! - time
    return {
      ...asRow(row),
      waitMs: isHeldUp ? Infinity : Math.max(0, leaseMs, row.availableAt - time),
    }
  }
}

/**
 * Finds due rows of the wanted partitions, up to the limit, and their keys. Only the first row of each key
 * counts.
 */
function findKeys(
  looked: readonly MemoryRow[],
  { partitions, except, limit, destination }: LaneRequest,
): { found: readonly MemoryRow[]; keys: ReadonlySet<string> } {
  const wanted = new Set(partitions)
  const excepted = new Set(except)
  const found = looked
    .filter((row) => isFor(destination, row))
    .filter((row) => wanted.has(partitionOfRow(row)) && !excepted.has(row.orderingKey ?? row.eventId))
    .slice(0, Math.max(0, limit))
  return { found, keys: new Set(found.flatMap(({ orderingKey }) => orderingKey ?? [])) }
}

/**
 * Whether the row was written for later and no process has held it yet: it takes its place when it is due.
 */
function isStillToCome(row: MemoryRow, time: number): boolean {
  return row.availableAt > time && row.deliveries === 0 && row.blockedAt === null
}

function isFor(destination: string | undefined, row: MemoryRow): boolean {
  return destination === undefined || row.destination === destination
}
