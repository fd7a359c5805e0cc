import { partitionCount, partitionOfRow } from '../../store/partition-of.ts'
import type { OutboxPartitions, OwnedPartition, PartitionShares } from '../../store/index.ts'
import { participantPrefix } from '../../store/index.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryLock, MemoryLocks } from './memory-locks.ts'

/** The partitions of a memory store. */
export interface MemoryPartitions extends OutboxPartitions {
  isOwner(token: string, partition: OwnedPartition): boolean
}

interface Partition {
  owner: string | null
  epoch: number
}

/** Makes the partitions, at first without owners. */
export function memoryPartitions(
  now: () => number,
  events: MemoryEvents,
  locks: MemoryLocks,
): MemoryPartitions {
  const partitions = Array.from({ length: partitionCount }, (): Partition => ({ owner: null, epoch: 0 }))

  return {
    async shares(owner) {
      if (!locks.isOwner(owner)) return undefined

      const time = now()
      for (const lock of locks.withPrefix(participantPrefix)) {
        if (lock.until > time) continue
        locks.remove(lock.name)
        events.countLossesOf(lock.held, (row) => partitions[partitionOfRow(row)]!.owner === lock.token)
      }
      return sharesOf(locks.withPrefix(participantPrefix), time, owner.token)
    },

    async look() {
      const time = now()
      return sharesOf(
        locks.withPrefix(participantPrefix).filter(({ until }) => until > time),
        time,
      )
    },

    async acquire({ owner, partitions: wanted }) {
      if (!locks.isOwner(owner)) return []

      const takingPart = new Set(locks.withPrefix(participantPrefix).map(({ token }) => token))
      return wanted.flatMap((index) => {
        const partition = partitions[index]!
        if (takingPart.has(partition.owner ?? '')) return []
        partition.owner = owner.token
        partition.epoch += 1
        return [{ partition: index, epoch: partition.epoch }]
      })
    },

    async release({ owner, partitions: given }) {
      for (const { partition: index, epoch } of given) {
        const partition = partitions[index]!
        if (partition.owner === owner.token && partition.epoch === epoch) partition.owner = null
      }
    },

    isOwner: (token, { partition: index, epoch }) => {
      const partition = partitions[index]
      return partition?.owner === token && partition.epoch === epoch
    },
  }

  function sharesOf(living: readonly MemoryLock[], time: number, asker?: string): PartitionShares {
    const participants = new Set(living.map(({ token }) => token))
    const ends = living.filter(({ token }) => token !== asker).map(({ until }) => until - time)
    return {
      participants: [...participants],
      partitions: partitions.map((partition, index) => ({
        partition: index,
        owner: participants.has(partition.owner ?? '') ? partition.owner : null,
        epoch: partition.epoch,
      })),
      nextEndMs: Math.min(...ends),
    }
  }
}
