import { checkOptions, type OptionCheck } from '../options.ts'
import { filteredEnding, type MinuteStatistics, type StoreWith } from '../store/index.ts'
import { type Latency, latencyOf } from './delivery-rates.ts'

/** Options of `admin.deliveries`. */
export interface DeliveriesOptions {
  /** How many minutes to return: 1 to 1,440. Default: 60. */
  readonly minutes?: number
}

/** The deliveries of all processes within one minute. */
export interface DeliveryMinute {
  /** The beginning of the minute, in epoch milliseconds by the database's clock. */
  readonly minute: number
  readonly done: number
  /** Attempts that failed and are repeated, or wait for an operator. */
  readonly failed: number
  readonly dead: number
  readonly deferred: number
  /** The share of the deliveries that came straight from a commit; null without any. */
  readonly hotShare: number | null
  /** How long listeners took. */
  readonly listener: Latency
  /** How long events took from the write, or from their due time, to the end of the delivery. */
  readonly delivery: Latency
}

/** Defaults of `admin.deliveries`. */
export const deliveriesDefaults = { minutes: 60 }

const minuteMs = 60_000
const maxStatistics = 100_000

const minutesOfADay: OptionCheck = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= 1_440
    ? undefined
    : 'a whole number from 1 to 1440'

/** Checks the options of `admin.deliveries`, and returns how many minutes they ask for. */
export function minutesAskedFor(options: DeliveriesOptions): number {
  checkOptions('deliveries', options, { minutes: minutesOfADay })
  return options.minutes ?? deliveriesDefaults.minutes
}

/** Reads deliveries by the minute, the oldest first. The last minute is the one under way. */
export async function readDeliveries<Tx>(
  { looks, reports }: StoreWith<Tx, 'looks'>,
  minutes: number,
): Promise<readonly DeliveryMinute[]> {
  const { at } = await looks.bound()
  const last = at - (at % minuteMs)
  const statistics = await reports?.statistics({ lastMs: minutes * minuteMs, limit: maxStatistics })
  const delivered = (statistics ?? []).filter(({ destination }) => !destination.endsWith(filteredEnding))
  const byMinute = Map.groupBy(delivered, ({ minute }) => minute)
  return Array.from({ length: minutes }, (_, index) => {
    const minute = last - (minutes - 1 - index) * minuteMs
    return minuteOf(minute, byMinute.get(minute) ?? [])
  })
}

function minuteOf(minute: number, statistics: readonly MinuteStatistics[]): DeliveryMinute {
  const sum = (name: 'done' | 'failed' | 'dead' | 'deferred' | 'hot') =>
    statistics.reduce((total, each) => total + each[name], 0)
  const counts = { done: sum('done'), failed: sum('failed'), dead: sum('dead'), deferred: sum('deferred') }
  const all = counts.done + counts.failed + counts.dead + counts.deferred
  return {
    minute,
    ...counts,
    hotShare: all === 0 ? null : Math.min(1, sum('hot') / all),
    listener: latencyOf(statistics.map(({ listenerBuckets }) => listenerBuckets)),
    delivery: latencyOf(statistics.map(({ deliveryBuckets }) => deliveryBuckets)),
  }
}
