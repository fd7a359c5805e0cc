import type { OutboxControls, PauseTarget, RowId } from '../../store/index.ts'

/** The controls of a memory store. */
export interface MemoryControls extends OutboxControls {
  isPaused(row: RowId & { readonly eventType: string }): boolean
  /** The parked ordering keys. */
  readonly parkedKeys: Set<string>
}

/** Makes controls with nothing paused or parked. */
export function memoryControls(): MemoryControls {
  const eventTypes = new Set<string>()
  const destinations = new Set<string>()

  return {
    parkedKeys: new Set(),

    async pause(target) {
      if ('eventType' in target) eventTypes.add(target.eventType)
      else destinations.add(target.destination)
    },

    async resume(target) {
      if ('eventType' in target) eventTypes.delete(target.eventType)
      else destinations.delete(target.destination)
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
