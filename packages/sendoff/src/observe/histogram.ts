/** The upper bounds of buckets by default, in seconds. */
export const defaultBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]

/** Counts durations in buckets. */
export class Histogram {
  /** The upper bounds of the buckets, in seconds, rising. */
  readonly bounds: readonly number[]
  /** How many durations each bucket has. The last bucket, beyond all bounds, is one more. */
  readonly counts: number[]
  sumSeconds = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  add(ms: number): void {
    const seconds = ms / 1_000
    const { bounds, counts } = this
    let bucket = 0
    while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++
    counts[bucket]!++
    this.sumSeconds += seconds
    this.count++
  }
}
