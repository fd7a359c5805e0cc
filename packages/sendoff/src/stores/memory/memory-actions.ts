import { EventStatus, isPending } from '../../store/event-status.ts'
import {
  type ActionRow,
  type HolderOfRow,
  inDueOrder,
  isAuditStep,
  type OutboxActions,
  type RowAction,
  type RowId,
} from '../../store/index.ts'
import type { MemoryAudit } from './memory-audit.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryLocks } from './memory-locks.ts'
import { type MemoryRow, rowIdText } from './memory-row.ts'
import type { MemoryTx } from './memory-transaction.ts'
import { replayedFields } from './replayed-fields.ts'
import { type MemoryHistory, settleRow } from './settle-rows.ts'

/** The parts that actions change, and the locks that they respect. */
export interface MemoryActionParts {
  readonly now: () => number
  readonly events: MemoryEvents
  readonly history: MemoryHistory
  readonly locks: MemoryLocks
  readonly audit: MemoryAudit
}

/** The operators' actions on a memory store. */
export function memoryActions(parts: MemoryActionParts): OutboxActions<MemoryTx> {
  const { now, events, history, locks, audit } = parts

  return {
    async run({ action, rows, reason = '', audit: note }) {
      const step = isAuditStep(note) ? audit.get(note.id) : undefined
      if (isAuditStep(note) && (step === undefined || step.entry.progress !== note.expects)) {
        return { kind: 'overtaken' }
      }
      const held: HolderOfRow[] = []
      const changed = rows.filter((id) => act(action, id, reason, held)).map(idOf)
      if (step !== undefined && isAuditStep(note)) {
        const { progress, state } = note
        const affected = step.entry.affected + changed.length
        step.entry = { ...step.entry, progress, state, affected, updatedAt: now() }
        for (const row of changed) step.rows.add(rowIdText(row))
      } else if (!isAuditStep(note) && changed.length > 0) {
        audit.add(note, changed)
      }
      return { kind: 'ran', rows: changed, held }
    },

    async cancelWithin({ tx, event, reason, audit: entry }) {
      tx.assertOpen()
      const eventId =
        'eventId' in event ? event.eventId : tx.findIdempotencyKey(event.idempotencyKey)?.eventId
      const found = eventId === undefined ? [] : tx.rowsOf(eventId)
      const pending = found.filter((row) => isPending(row.status))
      const held = pending.flatMap((row) => heldBy(row) ?? [])
      const free = pending.filter((row) => heldBy(row) === undefined)
      if (free.length > 0) {
        tx.afterCommit(() => {
          for (const row of free) if (isPending(row.status)) kill(row, reason)
          audit.add(entry, free)
        })
      }
      return { eventId: found.length === 0 ? undefined : eventId, rows: free.map(idOf), held }
    },

    async record({ entry, rows, affected, tx }) {
      const id = audit.nextId()
      if (tx === undefined) return audit.add(entry, rows, id, affected)
      tx.assertOpen()
      tx.afterCommit(() => void audit.add(entry, rows, id, affected))
      return id
    },

    async audit({ id, before = Infinity, limit }) {
      const entries = audit.newestFirst().map(({ entry }) => entry)
      const wanted = entries.filter(
        (entry) => (id === undefined || entry.id === id) && Number(entry.id) < Number(before),
      )
      return wanted.slice(0, limit)
    },

    async auditOf({ row, limit }) {
      const entries = audit.newestFirst().filter(({ rows }) => rows.has(rowIdText(row)))
      return entries
        .slice(0, limit)
        .map(({ entry }) => entry)
        .reverse()
    },

    async purgeAudit({ olderThanMs, limit }) {
      const cutoff = now() - olderThanMs
      const old = audit.newestFirst().filter(({ entry }) => entry.at < cutoff && entry.state !== 'running')
      const oldest = old.reverse().slice(0, limit)
      for (const { entry } of oldest) audit.delete(entry.id)
      return oldest.length
    },
  }

  function act(action: RowAction, id: ActionRow, reason: string, held: HolderOfRow[]): boolean {
    const row = events.findRow(rowIdText(id))
    if (row === undefined || (id.deliveries !== undefined && id.deliveries !== row.deliveries)) return false

    if (action === 'replay') {
      if (row.status !== EventStatus.DEAD) return false
      events.change(row, replayedFields(row, now()))
    } else if (action === 'purge') {
      if (isPending(row.status)) return false
      events.delete(row)
      history.delete(rowIdText(row))
    } else {
      if (!isPending(row.status) || (action === 'skip' && row.blockedAt === null)) return false
      const holder = action === 'cancel' ? heldBy(row) : undefined
      if (holder !== undefined) {
        held.push(holder)
        return false
      }
      kill(row, reason)
    }
    return true
  }

  function kill(row: MemoryRow, reason: string): void {
    settleRow(events, history, row, { kind: 'dead', failure: { error: reason, counted: false } }, now())
  }

  function heldBy(row: MemoryRow): HolderOfRow | undefined {
    const holder =
      row.lockedBy === null ? holderByLock(row) : row.lockedUntil! > now() ? row.lockedBy : undefined
    return holder === undefined ? undefined : { ...idOf(row), holder }
  }

  function holderByLock(row: MemoryRow): string | undefined {
    const living = locks.withPrefix('').filter(({ until }) => until > now())
    return living.find(
      ({ bounds, held }) =>
        held.some(({ seq, deliveries }) => seq === row.seq && deliveries === row.deliveries) ||
        (bounds !== null &&
          row.blockedAt === null &&
          inDueOrder(row, bounds.low) >= 0 &&
          inDueOrder(row, bounds.high) <= 0),
    )?.token
  }
}

function idOf({ eventId, destination }: RowId): RowId {
  return { eventId, destination }
}
