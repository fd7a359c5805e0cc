import type { PartitionShare, PartitionShares } from '../store/index.ts'

/** What a participant should do to have its share of the partitions. */
export interface PartitionPlan {
  /** Free ones that are its to take. */
  readonly acquire: readonly number[]
  /** Its own that are too many. */
  readonly release: readonly number[]
  /** How many it still lacks, also after that. */
  readonly missing: number
}

/**
 * The share of `self`: as many partitions as everybody else, give or take one. Those who have most may keep the one more,
 * so that as few as possible change hands. All who see the same plan for different partitions: nobody stands in
 * another's way.
 */
export function planPartitions(shares: PartitionShares, self: string): PartitionPlan {
  const ownedBy = Map.groupBy(shares.partitions, ({ owner }) => owner)
  const free = numbersOf(ownedBy.get(null))
  const countOf = (token: string) => ownedBy.get(token)?.length ?? 0
  const inOrder = [...shares.participants].sort((a, b) => countOf(b) - countOf(a) || (a < b ? -1 : 1))
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

function numbersOf(shares: readonly PartitionShare[] = []): number[] {
  return shares.map(({ partition }) => partition).sort((a, b) => a - b)
}
