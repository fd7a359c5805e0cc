import { OwnerSource } from '../poll/owner-source.ts'
import { dispatchingUnderLock } from './dispatching-under-lock.ts'
import { hotPathOf } from './hot-path-of.ts'
import { usualLockTimes } from './lock-times.ts'
import type { Mode } from './mode.ts'
import {
  lockOfDestination,
  losingRowsWith,
  namedLockOf,
  pollerLock,
  standByWarning,
} from './named-lock-of.ts'

/** One process at a time polls without claims, under a lock. */
export const singleNode: Mode = {
  lockTimes: usualLockTimes,

  open(options, parts) {
    const lock = namedLockOf(parts, {
      ...usualLockTimes(parts.lease.ms),
      name: lockOfDestination(pollerLock, parts),
      destination: parts.scope.destination,
      onStandBy: standByWarning(parts),
    })
    losingRowsWith(lock, parts)
    const source = new OwnerSource({ ...parts, lock, destination: parts.scope.destination })
    return {
      lock,
      dispatching: dispatchingUnderLock(lock, source, parts),
      polling: {},
      connect: (dispatcher) => ({ source, hotPath: hotPathOf(dispatcher, options, parts) }),
    }
  },
}
