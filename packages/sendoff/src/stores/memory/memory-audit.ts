import type { AuditEntry, NewAuditEntry, RowId } from '../../store/index.ts'
import { rowIdText } from './memory-row.ts'

/** An audit entry as the store keeps it, with the rows that it is about. */
export interface MemoryAuditEntry {
  entry: AuditEntry
  readonly rows: Set<string>
}

/** The audit of a memory store. */
export class MemoryAudit {
  readonly #now: () => number
  readonly #entries = new Map<string, MemoryAuditEntry>()
  #lastId = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns the id of the next entry, for `keep`. */
  nextId(): string {
    return String(++this.#lastId)
  }

  /** Adds an entry about rows, and returns its id. */
  add(entry: NewAuditEntry, rows: readonly RowId[], id = this.nextId(), affected = rows.length): string {
    const { actor, action, detail = null, plan = null, state = null, progress = null } = entry
    const at = this.#now()
    this.#entries.set(id, {
      entry: {
        id,
        at,
        actor,
        action,
        detail,
        plan,
        state,
        affected,
        progress,
        updatedAt: plan === null ? null : at,
      },
      rows: new Set(rows.map(rowIdText)),
    })
    return id
  }

  get(id: string): MemoryAuditEntry | undefined {
    return this.#entries.get(id)
  }

  /** Returns all entries, newest first. */
  newestFirst(): MemoryAuditEntry[] {
    return [...this.#entries.values()].sort((a, b) => Number(b.entry.id) - Number(a.entry.id))
  }

  delete(id: string): void {
    this.#entries.delete(id)
  }
}
