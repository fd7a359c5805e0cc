import { EventStatus } from '../../store/event-status.ts'
import type { BlockedKey, KeyName, NewAuditEntry, OutboxOrderingKeys, RowId } from '../../store/index.ts'
import { maxCountedWaiting } from '../../store/index.ts'
import type { MemoryAudit } from './memory-audit.ts'
import type { MemoryControls } from './memory-controls.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryRow } from './memory-row.ts'
import { asStoredRow } from './memory-row.ts'
import { type MemoryHistory, settleRow } from './settle-rows.ts'

/** The operators' part for ordering keys of a memory store. */
export function memoryOrderingKeys(
  now: () => number,
  events: MemoryEvents,
  controls: MemoryControls,
  history: MemoryHistory,
  audit: MemoryAudit,
): OutboxOrderingKeys {
  return {
    async blocked({ limit, after = '', destination = '' }) {
      const keys = new Set([...controls.parkedKeys(destination), ...events.pendingKeys()])
      return [...keys]
        .sort()
        .filter((key) => key > after)
        .flatMap((orderingKey) => blockedKey({ orderingKey, destination }) ?? [])
        .slice(0, limit)
    },

    async retry(key, entry) {
      const head = headOf(key)
      const time = now()
      if (head === undefined || isLeased(head, time)) return false
      if (head.blockedAt === null && head.availableAt <= time) return false

      events.change(head, { blockedAt: null, availableAt: time, deliveries: head.deliveries + 1 })
      record(entry, [head])
      return true
    },

    async skip({ reason, ...key }, entry) {
      const head = headOf(key)
      if (head === undefined) return false

      settleRow(events, history, head, { kind: 'dead', failure: { error: reason, counted: false } }, now())
      record(entry, [head])
      return true
    },

    async park(key, entry) {
      controls.parkedKeys(key.destination).add(key.orderingKey)
      record(entry, [])
    },

    async unpark(key, entry) {
      controls.parkedKeys(key.destination).delete(key.orderingKey)
      record(entry, [])
    },
  }

  function record(entry: NewAuditEntry | undefined, rows: readonly RowId[]): void {
    if (entry !== undefined) audit.add(entry, rows)
  }

  // A row that was written for later does not hold up its key until a process has held it.
  function pendingOf({ orderingKey, destination = '' }: KeyName): MemoryRow[] {
    const time = now()
    const rows: MemoryRow[] = []
    for (const row of events.pendingAsWritten(orderingKey)) {
      if (row.destination !== destination) continue
      if (row.availableAt > time && row.deliveries === 0 && row.blockedAt === null) continue
      rows.push(row)
      if (rows.length > maxCountedWaiting) break
    }
    return rows
  }

  function headOf(key: KeyName): MemoryRow | undefined {
    return pendingOf(key)[0]
  }

  function blockedKey(key: KeyName): BlockedKey | undefined {
    const [head, ...waiting] = pendingOf(key)
    const isParked = controls.parkedKeys(key.destination).has(key.orderingKey)
    const isBlocked = head !== undefined && (head.blockedAt !== null || head.status === EventStatus.RETRY)
    if (!isParked && !isBlocked) return undefined
    return {
      orderingKey: key.orderingKey,
      isParked,
      head: head && asStoredRow(head),
      waiting: waiting.length,
    }
  }
}

function isLeased(row: MemoryRow, time: number): boolean {
  return row.lockedBy !== null && row.lockedUntil! > time
}
