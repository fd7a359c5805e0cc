import { describeError } from '../describe-error.ts'
import type { LeaseTaker, OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { claimRows } from '../poll/claim-source.ts'
import type { ModeParts } from './mode.ts'

/** Tells the store what this process holds without a lease. */
export interface HeldRows {
  recordHeld(): Promise<void>
}

/** Settings of a dispatcher whose rows were read under a lock. `onReleased` follows on the lock's release. */
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
 * Leases what still runs here row by row, and gives the lock back: the next owner begins with everything else at once, and with
 * these when their leases have run out. Returns false where the lock has to be kept.
 */
async function giveBackLock(lock: NamedLock, parts: ModeParts, dispatcher: LeaseTaker): Promise<boolean> {
  const { inFlight } = parts
  const running = inFlight.unclaimed().map(({ row }) => row)
  if (lock.holding !== undefined && running.length > 0) {
    dispatcher.carryOn(await claimRows(parts, running, 'cold'))
  }
  // Of a paused type no row can be claimed. The lock then runs out by itself, and what runs counts as lost.
  if (inFlight.unclaimed().length > 0) return false
  await lock.release()
  return true
}
