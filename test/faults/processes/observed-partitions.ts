import {
  type OutboxLocks,
  type OutboxPartitions,
  type OwnedPartition,
  type OwnerFence,
  participantPrefix,
} from '../../../packages/sendoff/src/store/index.ts'
import { destinationIn } from '../history/rows-of-events.ts'
import type { ProcessHistory } from '../history/process-history.ts'

/** Returns partitions that record their changes of owner, as far as this process knows of them. */
export function observedPartitions(partitions: OutboxPartitions, history: ProcessHistory): OutboxPartitions {
  const known = new Set<string>()

  function gained(since: number, { token }: OwnerFence, owned: readonly OwnedPartition[]): void {
    const added = owned.filter(({ partition, epoch }) => !known.has(`${partition}/${epoch}`))
    for (const { partition, epoch } of added) known.add(`${partition}/${epoch}`)
    if (added.length > 0) history.say({ kind: 'gained', since, token, partitions: added })
  }

  return {
    async acquire({ owner, partitions: numbers }) {
      const since = history.now()
      try {
        const owned = await partitions.acquire({ owner, partitions: numbers })
        gained(since, owner, owned)
        return owned
      } catch (error) {
        history.say({ kind: 'notGained', since, partitions: numbers })
        throw error
      }
    },

    release({ owner, partitions: given }) {
      const numbers = given.map(({ partition }) => partition)
      history.say({ kind: 'givenUp', token: owner.token, partitions: numbers })
      return partitions.release({ owner, partitions: given })
    },

    look: () => partitions.look(),

    // Also records what a lost reply would have said.
    async shares(owner) {
      const since = history.now()
      const shares = await partitions.shares(owner)
      const own = shares?.partitions.filter(({ owner: token }) => token === owner.token) ?? []
      gained(
        since,
        owner,
        own.map(({ partition, epoch }) => ({ partition, epoch })),
      )
      return shares
    },
  }
}

/**
 * Returns locks that record their changes of owner. With its lock a process gives up all of its partitions at
 * once.
 */
export function observedLocks(locks: OutboxLocks, history: ProcessHistory): OutboxLocks {
  let last: OwnerFence | undefined

  function givenUp({ lock, token }: OwnerFence): void {
    if (lock.startsWith(participantPrefix)) history.say({ kind: 'givenUp', token })
    else history.say({ kind: 'lockGivenUp', destination: destinationIn(lock), token })
  }

  return {
    async acquire(request) {
      const isParticipant = request.lock.startsWith(participantPrefix)
      // A process that asks for another lock knows that the last one is lost.
      if (isParticipant && last !== undefined && last.token !== request.token) givenUp(last)
      last = request
      const since = history.now()
      const isTaken = await locks.acquire(request)
      if (isTaken && !isParticipant) {
        const { lock, token } = request
        history.say({ kind: 'lockTaken', since, destination: destinationIn(lock), token })
      }
      return isTaken
    },
    renew: (request) => locks.renew(request),
    release(fence) {
      givenUp(fence)
      return locks.release(fence)
    },
  }
}
