import { describeError } from '../describe-error.ts'
import type { LeaseTaker, OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { claimRows } from '../poll/claim-source.ts'
import type { ModeParts } from './mode.ts'

/** Records in the store which rows this process holds without a lease. */
export interface HeldRows {
  recordHeld(): Promise<void>
}

/**
 * Returns the settings of a dispatcher for rows that were read under a lock. `onReleased` is called after the
 * lock is released.
 */
export function dispatchingUnderLock(
  lock: NamedLock,
  held: HeldRows,
  parts: ModeParts,
  onReleased?: () => Promise<void> | undefined,
): Partial<OutboxDispatcherOptions> {
  return {
    onRefusedUnderLock: () => lock.doubt(),
    recordHeld: () => held.recordHeld(),
    async onlyRunning(dispatcher) {
      try {
        if (await giveBackLock(lock, parts, dispatcher)) await onReleased?.()
      } catch (error) {
        parts.logger.warn(`Releasing the lock failed; it runs out by itself. ${describeError(error)}`)
      }
    },
  }
}

/**
 * Leases the rows that still run here one by one, and releases the lock. The next owner begins all other rows
 * at once, and these when their leases have run out. Returns false if the lock has to be kept.
 */
async function giveBackLock(lock: NamedLock, parts: ModeParts, dispatcher: LeaseTaker): Promise<boolean> {
  const { inFlight } = parts
  const running = inFlight.unclaimed().map(({ row }) => row)
  if (lock.holding !== undefined && running.length > 0) {
    dispatcher.carryOn(await claimRows(parts, running, 'cold'))
  }
  // Rows of a paused type cannot be claimed. The lock then runs out by itself, and running rows count as
  // lost.
  if (inFlight.unclaimed().length > 0) return false
  await lock.release()
  return true
}
