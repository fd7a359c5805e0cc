import type { OutboxControls, PauseTarget, RowId } from '../../store/index.ts'
import type { MemoryAudit } from './memory-audit.ts'

/** The controls of a memory store. */
export interface MemoryControls extends OutboxControls {
  isPaused(row: RowId & { readonly eventType: string }): boolean
  /** Returns the parked ordering keys of a destination. */
  parkedKeys(destination?: string): Set<string>
  /** The parked ordering keys of all destinations, by name. */
  readonly allParkedKeys: readonly string[]
}

/** Makes controls with nothing paused or parked. */
export function memoryControls(audit: MemoryAudit): MemoryControls {
  const eventTypes = new Set<string>()
  const destinations = new Set<string>()

  const parkedKeys = new Map<string, Set<string>>()

  return {
    parkedKeys(destination = '') {
      const keys = parkedKeys.get(destination) ?? new Set()
      parkedKeys.set(destination, keys)
      return keys
    },

    get allParkedKeys() {
      return [...new Set([...parkedKeys.values()].flatMap((keys) => [...keys]))].sort()
    },

    async pause(target, entry) {
      if ('eventType' in target) eventTypes.add(target.eventType)
      else destinations.add(target.destination)
      if (entry !== undefined) audit.add(entry, [])
    },

    async resume(target, entry) {
      if ('eventType' in target) eventTypes.delete(target.eventType)
      else destinations.delete(target.destination)
      if (entry !== undefined) audit.add(entry, [])
    },

    async paused(): Promise<PauseTarget[]> {
      return [
        ...[...destinations].sort().map((destination) => ({ destination })),
        ...[...eventTypes].sort().map((eventType) => ({ eventType })),
      ]
    },

    isPaused: (row) => eventTypes.has(row.eventType) || destinations.has(row.destination),
  }
}
