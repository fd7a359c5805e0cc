export interface Elapsed {
  readonly ms: number
  /** Microseconds of CPU that this process has used, on all of its threads. */
  readonly cpuUs: number
}

/** Starts to measure, and returns the function that ends it. */
export function startWatch(): () => Elapsed {
  const cpu = process.cpuUsage()
  const startedAt = performance.now()

  return () => {
    const ms = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpu)
    return { ms, cpuUs: user + system }
  }
}

/** Returns the middle value, or the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * Returns the bounds between which the median of all possible measurements lies, with a certainty of at least
 * 95 percent. It assumes nothing of how values are distributed. Below six values there are no such bounds:
 * returns the smallest and the largest.
 */
export function medianBounds(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b)
  // So many values may lie beyond each bound. Each lies below the true median as often as above it.
  let beyond = 0
  let chance = 0.5 ** sorted.length
  let term = chance
  for (;;) {
    term *= (sorted.length - beyond) / (beyond + 1)
    chance += term
    if (chance > 0.025) break
    beyond++
  }
  return [sorted[beyond]!, sorted.at(-1 - beyond)!]
}

/** Returns the value that a given share of all values, between 0 and 1, lies below. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}

/** Returns milliseconds by a clock that all processes of this machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
