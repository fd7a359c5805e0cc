import type { TallyGroup, TallyPart } from '../../store/index.ts'

/** Makes one part of a tally from the groups of its newest rows, and an estimate of all of them. */
export function tallyPart(groups: readonly TallyGroup[], bound: number, estimate: number): TallyPart {
  const counted = groups.reduce((sum, { count }) => sum + count, 0)
  // One row more than the bound is counted, to see whether there are more.
  if (counted <= bound) return { groups, total: counted, isExact: true }
  return { groups, total: Math.max(Math.round(estimate), counted), isExact: false }
}
