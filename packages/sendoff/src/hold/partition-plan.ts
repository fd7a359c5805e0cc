import type { PartitionShare, PartitionShares } from '../store/index.ts'

/** The steps by which a participant gets its share of the partitions. */
export interface PartitionPlan {
  /** Free partitions that it may take. */
  readonly acquire: readonly number[]
  /** Partitions of its own that are too many. */
  readonly release: readonly number[]
  /** How many partitions it still lacks after that. */
  readonly missing: number
}

const leavingPrefix = 'leaving/'

/**
 * Returns the token of a second lock, by which a participant says that it leaves. It keeps the partitions of
 * its running listeners for a while, and the others divide all the rest among themselves.
 */
export function leavingToken(token: string): string {
  return `${leavingPrefix}${token}`
}

/**
 * Plans the share of `self`: as many partitions as every other participant, give or take one. Participants
 * that own the most may keep the extra one, so that few partitions change owners. Participants that see the
 * same shares plan for different partitions, so none gets in the way of another.
 */
export function planPartitions(shares: PartitionShares, self: string): PartitionPlan {
  const ownedBy = Map.groupBy(shares.partitions, ({ owner }) => owner)
  const free = numbersOf(ownedBy.get(null))
  const countOf = (token: string) => ownedBy.get(token)?.length ?? 0
  const inOrder = staying(shares.participants).sort((a, b) => countOf(b) - countOf(a) || (a < b ? -1 : 1))
  const { length: total } = shares.partitions
  const least = Math.floor(total / inOrder.length)
  const withOneMore = total % inOrder.length

  let taken = 0
  for (const [index, token] of inOrder.entries()) {
    const quota = least + (index < withOneMore ? 1 : 0)
    const lacking = Math.max(0, quota - countOf(token))
    if (token === self) {
      const acquire = free.slice(taken, taken + lacking)
      return {
        acquire,
        release: numbersOf(ownedBy.get(self)).slice(quota),
        missing: lacking - acquire.length,
      }
    }
    taken += lacking
  }
  return { acquire: [], release: [], missing: 0 }
}

function staying(participants: readonly string[]): string[] {
  const leaving = new Set(participants.filter((token) => token.startsWith(leavingPrefix)))
  return participants.filter((token) => !leaving.has(token) && !leaving.has(leavingToken(token)))
}

function numbersOf(shares: readonly PartitionShare[] = []): number[] {
  return shares.map(({ partition }) => partition).sort((a, b) => a - b)
}
