import { describeError } from '../describe-error.ts'
import type { LeaseTaker, OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { claimRows, namedRow } from '../poll/claim-source.ts'
import type { HeldRecord } from '../poll/held-record.ts'
import type { ModeParts } from './mode.ts'

/** Records in the store which rows this process holds without a lease. */
export interface HeldRows {
  recordHeld(): Promise<void>
}

/** Returns the settings of a dispatcher for rows that were read under a lock, in no order. */
export function dispatchingUnderLock(
  lock: NamedLock,
  held: HeldRows,
  parts: ModeParts,
): Partial<OutboxDispatcherOptions> {
  return {
    ...recordingHeld(lock, held),
    onlyRunning: (dispatcher) => releasing(parts, () => giveBackLock(lock, parts, dispatcher)),
  }
}

/**
 * Returns the settings of a dispatcher for rows that were read under a lock, in order. While a listener runs,
 * the closing process keeps the lock: no other process may begin an event of the same lane. `giveUpIdle`
 * gives up what no listener needs; `onReleased` is called after the lock is released.
 */
export function dispatchingInOrder(
  lock: NamedLock,
  held: HeldRecord,
  parts: ModeParts,
  { giveUpIdle, onReleased }: InOrderClosing = {},
): Partial<OutboxDispatcherOptions> {
  return {
    ...recordingHeld(lock, held),
    onlyRunning: async () => {
      if (held.unclaimed().length > 0) await giveUpIdle?.()
    },
    onClosed: () =>
      releasing(parts, async () => {
        // A listener that was given up may still run. Its lane continues when the lock has run out.
        if (held.unclaimed().length > 0 || lock.holding === undefined) return
        await lock.release()
        await onReleased?.()
      }),
  }
}

/** The part of closing that depends on the mode. */
export interface InOrderClosing {
  readonly giveUpIdle?: () => Promise<void> | undefined
  readonly onReleased?: () => Promise<void> | undefined
}

function recordingHeld(lock: NamedLock, held: HeldRows): Partial<OutboxDispatcherOptions> {
  return { onRefusedUnderLock: () => lock.doubt(), recordHeld: () => held.recordHeld() }
}

async function releasing({ logger }: ModeParts, release: () => Promise<void>): Promise<void> {
  try {
    await release()
  } catch (error) {
    logger.warn(`Releasing the lock failed; it runs out by itself. ${describeError(error)}`)
  }
}

/**
 * Leases the rows that still run here one by one, and releases the lock. The next owner begins all other rows
 * at once, and these when their leases have run out.
 */
async function giveBackLock(lock: NamedLock, parts: ModeParts, dispatcher: LeaseTaker): Promise<void> {
  const { inFlight } = parts
  const running = inFlight.unclaimed()
  if (lock.holding !== undefined && running.length > 0) {
    const rows = running.map(({ held }) => namedRow(held, null))
    const claimed = claimRows(parts, rows, 'cold').then((deliveries) => dispatcher.carryOn(deliveries))
    for (const delivery of running) delivery.reclaim = claimed
    await claimed
  }
  // Rows of a paused type cannot be claimed. The lock then runs out by itself, and running rows count as
  // lost.
  if (inFlight.unclaimed().length === 0) await lock.release()
}
