/** The upper bound of the first bucket, in milliseconds. */
const firstMs = 0.1

/** How many buckets double the time. A value is then known to within a fifth. */
const perDoubling = 4

/** The last bucket holds everything above a day. */
const last = 120

/**
 * Counts durations in buckets whose bounds grow by a fifth. Buckets of several processes and minutes can be
 * added up, and still give percentiles. Their text is short: `bucket:count` for each bucket that is in use.
 */
export class LatencyBuckets {
  readonly #counts: number[] = []

  /** Reads the text that `toString` wrote. Ignores whatever it cannot read. */
  static parse(text: string | null | undefined): LatencyBuckets {
    const buckets = new LatencyBuckets()
    for (const part of text?.split(' ') ?? []) {
      const [, name, count] = /^(\d{1,3}):(\d+)$/.exec(part) ?? []
      const bucket = Number(name ?? Infinity)
      if (bucket <= last) buckets.#counts[bucket] = (buckets.#counts[bucket] ?? 0) + Number(count)
    }
    return buckets
  }

  /** Counts one duration. */
  add(ms: number): void {
    const bucket = ms > firstMs ? Math.min(last, Math.ceil(Math.log2(ms / firstMs) * perDoubling)) : 0
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
  }

  /** Adds the counts of others. */
  merge(other: LatencyBuckets): this {
    other.#counts.forEach((count, bucket) => (this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count))
    return this
  }

  /** How many durations were counted. */
  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  /** Returns a bound that this share of the durations does not exceed; undefined if none was counted. */
  percentile(share: number): number | undefined {
    let left = this.count * share
    for (const [bucket, count] of Object.entries(this.#counts)) {
      left -= count
      if (left <= 0) return firstMs * 2 ** (Number(bucket) / perDoubling)
    }
    return undefined
  }

  toString(): string {
    return Object.entries(this.#counts)
      .map(([bucket, count]) => `${bucket}:${count}`)
      .join(' ')
  }
}
