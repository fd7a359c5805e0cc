import type { OutboxDispatcher } from '../dispatch/outbox-dispatcher.ts'
import { laneKeyOf, partitionOfLane } from '../delivery/lane-key.ts'
import type { OutboxDispatcherOptions } from '../dispatch/dispatcher-options.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { PartitionKeeper } from '../hold/partition-keeper.ts'
import { HeldRecord } from '../poll/held-record.ts'
import { LaneIntake } from '../poll/lane-intake.ts'
import { LaneSource } from '../poll/lane-source.ts'
import { participantLock, requireParts } from '../store/index.ts'
import { coldOnly } from '../wake/poller-wake-ups.ts'
import { dispatchingInOrder } from './dispatching-under-lock.ts'
import { usualLockTimes } from './lock-times.ts'
import { laneBatches, partitionedDefaults } from './mode-defaults.ts'
import type { PollerAlarm } from '../wake/poller-alarm.ts'
import type { Mode, ModeOptions, ModeParts } from './mode.ts'
import { losingRowsWith, namedLockOf } from './named-lock-of.ts'

interface PartitionedSettings extends ModeOptions {
  readonly onKeyFailure?: 'blockUntilDead' | 'block' | 'continue'
}

/** Many processes share the ordering keys, and deliver the events of each key one by one. */
export const partitioned: Mode<PartitionedSettings> = {
  lockTimes: usualLockTimes,

  open(options, parts) {
    const { scope, waker } = parts
    const { wakeUps } = options.store
    const store = requireParts(parts.store, ['lanes', 'partitions'], 'Outbox.partitioned')
    const { lock, held, keeper, dispatchers, wakers } = parts.shared(() => new PartitionShare(options, parts))
    losingRowsWith(lock, parts)
    held.add(parts.inFlight)
    wakers.push(waker)
    const intake = new LaneIntake({ ...parts, store, lock, held })
    return {
      lock,
      dispatching: {
        ...dispatchingInOrder(lock, held, parts, {
          giveUpIdle: () => keeper.leave(),
          async onReleased() {
            await keeper.left()
            await wakeUps?.announce()
          },
        }),
        ...keyByKey(options),
      },
      polling: laneBatches,
      connect(dispatcher) {
        dispatchers.push(dispatcher)
        waker.limitTo(keeper)
        const lanes = dispatcher.lanes!
        const skipWaiting = options.onKeyFailure === 'continue'
        const destination = () => (scope.hasOthers() ? scope.destination : undefined)
        return {
          keeper,
          source: new LaneSource({ ...parts, intake, store, keeper, lanes, lock, skipWaiting, destination }),
          // A hot path would break the order.
          hotPath: coldOnly(parts),
        }
      },
    }
  },
}

/**
 * The parts that all destinations of a process share: its lock, its partitions, and the record of its rows.
 */
class PartitionShare {
  readonly lock: NamedLock
  readonly held: HeldRecord
  readonly keeper: PartitionKeeper
  readonly dispatchers: Pick<OutboxDispatcher, 'leavePartition'>[] = []
  readonly wakers: PollerAlarm[] = []

  constructor({ store: { wakeUps } }: PartitionedSettings, parts: ModeParts) {
    const { lease, membership } = parts
    const store = requireParts(parts.store, ['lanes', 'partitions'], 'Outbox.partitioned')
    this.lock = namedLockOf(parts, { ...usualLockTimes(lease.ms), name: participantLock })
    this.held = new HeldRecord({ store, lock: this.lock })
    this.keeper = new PartitionKeeper({
      ...parts,
      partitions: store.partitions,
      lock: this.lock,
      locks: store.locks,
      leaseMs: lease.ms,
      intervalMs: lease.ms / (wakeUps === undefined ? 6 : 2),
      mayShare: () => membership.isMember(),
      letGo: async (partition) => {
        await Promise.all(this.dispatchers.map((dispatcher) => dispatcher.leavePartition(partition)))
      },
      waker: {
        wake: () => this.wakers.forEach((waker) => waker.wake()),
        announce: () => parts.waker.announce(),
      },
    })
    this.lock.onLost(() => this.keeper.lost())
  }
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
