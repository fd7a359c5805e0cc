import type { PollRequest, Row } from '../../store/index.ts'
import { boundsAround } from '../../store/due-order.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryLocks } from './memory-locks.ts'
import { asRow } from './memory-row.ts'

/**
 * Reads due rows for the owner of a lock, and records what it then holds. Returns undefined if it has lost
 * the lock.
 */
export async function pollPending(
  now: () => number,
  events: MemoryEvents,
  locks: MemoryLocks,
  request: PollRequest,
): Promise<readonly Row[] | undefined> {
  const { owner, held, renewMs } = request
  if (!locks.isOwner(owner)) return undefined

  const rows = events.due(request, now()).map(asRow)
  locks.recordBounds(owner.lock, boundsAround(held, rows))
  if (renewMs !== undefined) await locks.renew({ ...owner, ttlMs: renewMs })
  return rows
}
