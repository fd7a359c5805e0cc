import { deepEqual, ok } from 'node:assert/strict'
import { lockLossRun } from '../run/run-faults.ts'
import { scale } from '../run/scale.ts'
import { type Diagnosed, soundRun } from './sound-run.ts'

/**
 * Runs single writers that lose their lock in every way: its holder is killed or stopped, and the lock is
 * deleted or stolen. Counts the events that were sent twice.
 */
export async function soundLockLosses(test: Diagnosed, store: string): Promise<void> {
  const size = scale({
    small: {},
    full: { events: 4_000, faults: 400, durationMs: 80_000, settleLimitMs: 180_000 },
  })
  const { summary } = await soundRun(test, { ...lockLossRun, ...size, store, mode: 'singleWriter' })
  const { count, mostInFlight, repeated } = summary.lockLosses
  ok(count >= scale({ small: 1, full: 100 }), `the lock was lost ${count} times, too few to prove anything`)
  ok(
    repeated <= count * (mostInFlight + lockLossRun.workerCount),
    `${repeated} events were sent twice for ${count} losses with ${mostInFlight} in flight`,
  )
  deepEqual(Object.keys(summary.outages).sort(), ['deleteLock', 'stealLock'])
}
