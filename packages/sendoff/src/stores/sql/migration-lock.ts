import { randomUUID } from 'node:crypto'
import { type Cancel, type Clock, delay, systemClock } from '../../clock.ts'

/**
 * A row in the lock table that lets one process at a time run online steps. It is a row and no lock of the
 * server's own, because a pooler may give the session of such a lock to another client.
 */
export interface MigrationLock {
  /** Takes or renews the lock for `ms` milliseconds. Returns false if another process holds it. */
  take(token: string, ms: number): Promise<boolean>
  release(token: string): Promise<void>
}

/** The name of the lock's row. */
export const migrationLockName = 'migration'

/** How long the lock outlives a process that crashed. */
const lockMs = 5_000

const renewEveryMs = 1_000
const askEveryMs = 100

/** Longer than the lock of a process that crashed. */
const waitMs = 8_000

/**
 * Runs `work` while this process holds the lock. Waits for another process that holds it, but not beyond the
 * lock of one that crashed: online steps may take hours. Returns false if the other one is still at work.
 */
export async function underMigrationLock(
  lock: MigrationLock,
  work: () => Promise<void>,
  clock: Clock = systemClock,
): Promise<boolean> {
  const token = randomUUID()
  for (let waited = 0; !(await lock.take(token, lockMs)); waited += askEveryMs) {
    if (waited >= waitMs) return false
    await delay(clock, askEveryMs)
  }

  const cancel = renewing(clock, () => lock.take(token, lockMs))
  try {
    await work()
    return true
  } finally {
    cancel()
    await lock.release(token).catch(() => {})
  }
}

// A renewal that fails is no fault: every step can bear a second process beside it.
function renewing(clock: Clock, take: () => Promise<boolean>): Cancel {
  let cancel: Cancel
  const again = (): void => {
    cancel = clock.schedule(renewEveryMs, () => {
      take().catch(() => {})
      again()
    })
  }
  again()
  return () => cancel()
}
