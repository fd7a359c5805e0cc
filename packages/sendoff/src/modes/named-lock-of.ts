import { NamedLock, type NamedLockOptions } from '../hold/named-lock.ts'
import type { OwnerFence } from '../store/index.ts'
import type { ModeParts } from './mode.ts'

/** The name of the lock under which one process at a time reads. */
export const pollerLock = 'outbox-poller'

/** Makes a lock of this process. When the lock is lost, so are all rows that were read under it. */
export function namedLockOf(
  parts: ModeParts,
  options: Pick<NamedLockOptions, 'name' | 'ttlMs' | 'renewMarginMs' | 'onStandBy'>,
): NamedLock {
  const { store, lease } = parts
  const lock = new NamedLock({ ...parts, ...options, locks: store.locks, token: lease.owner })
  lock.onLost(({ fence }) => lockLost(fence, parts))
  return lock
}

/** Returns an `onStandBy` for a lock. It logs that another process delivers. */
export function standByWarning({ logger }: ModeParts): (fence: OwnerFence) => void {
  return ({ lock }) =>
    logger.warn(
      `This process stands by: another one holds the lock "${lock}" and delivers. This one takes over when that one ends.`,
    )
}

function lockLost({ lock }: OwnerFence, { inFlight, logger, recovery, waker }: ModeParts): void {
  // An outage is in the log already.
  const level = recovery.isOutage ? 'debug' : 'warn'
  logger[level](`The lock "${lock}" was lost: rows that were read under it are left to its next owner.`)
  for (const delivery of inFlight.values()) if (delivery.lock !== undefined) delivery.lose()
  waker.wake()
}
