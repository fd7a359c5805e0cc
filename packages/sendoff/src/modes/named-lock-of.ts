import { NamedLock, type NamedLockOptions } from '../hold/named-lock.ts'
import type { OwnerFence } from '../store/index.ts'
import type { ModeParts } from './mode.ts'

/** The name of the lock under which one process at a time reads. */
export const pollerLock = 'outbox-poller'

/**
 * Returns the name of the lock for one destination. Each has its own, so that bounds of held rows stay apart.
 */
export function lockOfDestination(name: string, { scope }: Pick<ModeParts, 'scope'>): string {
  return scope.destination === '' ? name : `${name}/${scope.destination}`
}

/** Makes a lock of this process. */
export function namedLockOf(
  parts: ModeParts,
  options: Pick<NamedLockOptions, 'name' | 'ttlMs' | 'renewMarginMs' | 'onStandBy' | 'destination'>,
): NamedLock {
  const { store, lease } = parts
  const lock = new NamedLock({ ...parts, ...options, locks: store.locks, token: lease.owner })
  lock.onLost(({ fence }) => {
    // An outage is in the log already.
    const level = parts.recovery.isOutage ? 'debug' : 'warn'
    parts.logger[level](
      `The lock "${fence.lock}" was lost: rows that were read under it are left to its next owner.`,
    )
  })
  return lock
}

/** Makes the loss of the lock a loss of all rows of these parts that were read under it. */
export function losingRowsWith(lock: NamedLock, { inFlight, metrics, waker }: ModeParts): void {
  lock.onLost(() => {
    const lost = [...inFlight.values()].filter((delivery) => delivery.lock !== undefined && !delivery.isLost)
    for (const delivery of lost) delivery.lose()
    if (lost.length > 0) metrics.addLeasesLost(lost.length)
    waker.wake()
  })
}

/** Returns an `onStandBy` for a lock. It logs that another process delivers. */
export function standByWarning({ logger }: ModeParts): (fence: OwnerFence) => void {
  return ({ lock }) =>
    logger.warn(
      `This process stands by: another one holds the lock "${lock}" and delivers. This one takes over when that one ends.`,
    )
}
