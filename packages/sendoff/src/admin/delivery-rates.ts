import { LatencyBuckets } from '../latency-buckets.ts'
import type { MinuteStatistics, OutboxReports } from '../store/index.ts'

/** How fast events of one type were delivered to one destination, in the last minutes. */
export interface DeliveryRate {
  readonly eventType: string
  readonly destination: string
  /** How many deliveries succeeded, failed, died or were deferred, per minute. */
  readonly donePerMinute: number
  readonly failedPerMinute: number
  readonly deadPerMinute: number
  readonly deferredPerMinute: number
  /** How long listeners took. */
  readonly listener: Latency
  /** How long events took from the write, or from their due time, to the end of the delivery. */
  readonly delivery: Latency
}

/** Percentiles in milliseconds, to within a fifth; undefined if there was no delivery. */
export interface Latency {
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
}

/** Over how many minutes the rates are averages. */
export const rateMinutes = 5

const maxStatistics = 10_000

/** Reads the rates of the last five minutes, the busiest first. */
export async function readRates(reports: OutboxReports): Promise<readonly DeliveryRate[]> {
  const statistics = await reports.statistics({ lastMs: rateMinutes * 60_000, limit: maxStatistics })
  const kinds = Map.groupBy(statistics, ({ eventType, destination }) =>
    JSON.stringify([eventType, destination]),
  )
  return [...kinds.values()].map(rateOf).sort((a, b) => b.donePerMinute - a.donePerMinute)
}

function rateOf(statistics: readonly MinuteStatistics[]): DeliveryRate {
  const { eventType, destination } = statistics[0]!
  const perMinute = (name: 'done' | 'failed' | 'dead' | 'deferred') =>
    statistics.reduce((sum, each) => sum + each[name], 0) / rateMinutes
  return {
    eventType,
    destination,
    donePerMinute: perMinute('done'),
    failedPerMinute: perMinute('failed'),
    deadPerMinute: perMinute('dead'),
    deferredPerMinute: perMinute('deferred'),
    listener: latencyOf(statistics.map(({ listenerBuckets }) => listenerBuckets)),
    delivery: latencyOf(statistics.map(({ deliveryBuckets }) => deliveryBuckets)),
  }
}

/** Returns the percentiles of latencies that processes counted in buckets. */
export function latencyOf(texts: readonly string[]): Latency {
  const all = new LatencyBuckets()
  for (const text of texts) all.merge(LatencyBuckets.parse(text))
  return { p50Ms: all.percentile(0.5), p99Ms: all.percentile(0.99) }
}
