import { laneKeyOf, partitionOfLane } from '../delivery/lane-key.ts'
import type { OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import { PartitionKeeper } from '../hold/partition-keeper.ts'
import { LaneIntake } from '../poll/lane-intake.ts'
import { LaneSource } from '../poll/lane-source.ts'
import { participantLock, requireParts } from '../store/index.ts'
import { coldOnly } from '../wake/poller-wake-ups.ts'
import { dispatchingInOrder } from './dispatching-under-lock.ts'
import { usualLockTimes } from './lock-times.ts'
import { laneBatches, partitionedDefaults } from './mode-defaults.ts'
import type { Mode, ModeOptions } from './mode.ts'
import { namedLockOf } from './named-lock-of.ts'

interface PartitionedSettings extends ModeOptions {
  readonly onKeyFailure?: 'blockUntilDead' | 'block' | 'continue'
}

/** Many processes share the ordering keys, and deliver the events of each key one by one. */
export const partitioned: Mode<PartitionedSettings> = {
  lockTimes: usualLockTimes,

  open(options, parts) {
    const { lease, membership, waker } = parts
    const { wakeUps } = options.store
    const store = requireParts(parts.store, ['lanes', 'partitions'], 'Outbox.partitioned')
    const lock = namedLockOf(parts, { ...usualLockTimes(lease.ms), name: participantLock })
    const intake = new LaneIntake({ ...parts, store, lock })
    let keeper: PartitionKeeper | undefined
    return {
      lock,
      dispatching: {
        ...dispatchingInOrder(lock, intake, parts, {
          giveUpIdle: () => keeper?.leave(),
          async onReleased() {
            await keeper?.left()
            await wakeUps?.announce()
          },
        }),
        ...keyByKey(options),
      },
      polling: laneBatches,
      connect(dispatcher) {
        keeper = new PartitionKeeper({
          ...parts,
          partitions: store.partitions,
          lock,
          locks: store.locks,
          leaseMs: lease.ms,
          intervalMs: lease.ms / (wakeUps === undefined ? 6 : 2),
          mayShare: () => membership.isMember(),
          letGo: (partition) => dispatcher.leavePartition(partition),
        })
        lock.onLost(() => keeper?.lost())
        waker.limitTo(keeper)
        const lanes = dispatcher.lanes!
        const skipWaiting = options.onKeyFailure === 'continue'
        return {
          keeper,
          source: new LaneSource({ ...parts, intake, store, keeper, lanes, lock, skipWaiting }),
          // A hot path would break the order.
          hotPath: coldOnly(parts),
        }
      },
    }
  },
}

function keyByKey({
  onKeyFailure = partitionedDefaults.onKeyFailure,
  coldQueueCapacity = partitionedDefaults.coldQueueCapacity,
}: PartitionedSettings): Partial<OutboxDispatcherOptions> {
  return {
    coldQueueCapacity,
    lanes: {
      laneOf: laneKeyOf,
      partitionOf: partitionOfLane,
      onFailure: onKeyFailure === 'continue' ? 'continue' : 'wait',
    },
    onGivenUp: ({ orderingKey }) => (onKeyFailure === 'block' && orderingKey !== null ? 'block' : 'dead'),
  }
}
