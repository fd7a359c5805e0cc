import type { OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import { HeldRecord } from '../poll/held-record.ts'
import { LaneIntake } from '../poll/lane-intake.ts'
import { onlyLane, OrderedSource } from '../poll/ordered-source.ts'
import { requireParts } from '../store/index.ts'
import { coldOnly } from '../wake/poller-wake-ups.ts'
import { dispatchingInOrder } from './dispatching-under-lock.ts'
import { usualLockTimes } from './lock-times.ts'
import { laneBatches, orderedDefaults } from './mode-defaults.ts'
import type { Mode, ModeOptions } from './mode.ts'
import { losingRowsWith, namedLockOf, pollerLock, standByWarning } from './named-lock-of.ts'

interface OrderedSettings extends ModeOptions {
  readonly onFailure?: 'dead' | 'retryForever'
}

/**
 * A single worker among all processes delivers, under a lock. It begins an event only after the one before it
 * is settled.
 */
export const ordered: Mode<OrderedSettings> = {
  lockTimes: usualLockTimes,

  open(options, parts) {
    const store = requireParts(parts.store, ['lanes'], 'Outbox.ordered')
    const lock = namedLockOf(parts, {
      ...usualLockTimes(parts.lease.ms),
      name: pollerLock,
      onStandBy: standByWarning(parts),
    })
    losingRowsWith(lock, parts)
    const held = new HeldRecord({ store, lock })
    held.add(parts.inFlight)
    const intake = new LaneIntake({ ...parts, store, lock, held })
    return {
      lock,
      dispatching: { ...dispatchingInOrder(lock, held, parts), ...oneByOne(options) },
      polling: laneBatches,
      connect: ({ lanes }) => ({
        source: new OrderedSource({ ...parts, intake, store, lanes: lanes!, lock }),
        // A hot path would break the order.
        hotPath: coldOnly(parts),
      }),
    }
  },
}

function oneByOne({
  onFailure = orderedDefaults.onFailure,
  maxAttempts = orderedDefaults.maxAttempts,
}: OrderedSettings): Partial<OutboxDispatcherOptions> {
  return {
    lanes: { laneOf: () => onlyLane, partitionOf: () => 0, onFailure: 'wait' },
    workerCount: 1,
    onGivenUp: () => (onFailure === 'retryForever' ? 'retry' : 'dead'),
    ...(onFailure === 'dead' && { maxAttempts }),
  }
}
