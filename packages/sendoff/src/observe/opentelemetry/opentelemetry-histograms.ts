import { type Clock, systemClock } from '../../clock.ts'
import { OutboxError } from '../../errors.ts'
import { checkOptions, having, oneOf } from '../../options.ts'
import { sendoffVersion } from '../../version.ts'
import type { CollectedMetrics } from '../collected-metrics.ts'
import type { Histogram } from '../histogram.ts'
import { histogramDefinitions, openTelemetryName } from '../metric-catalogue.ts'

/** Options of `openTelemetryHistograms`. */
export interface OpenTelemetryHistogramsOptions {
  /**
   * Whether a reading has all durations since the start, or only those since the reading before. It should
   * be what the exporter of the reader prefers. Default: `'cumulative'`.
   */
  readonly temporality?: 'cumulative' | 'delta'
  /** For tests that move time themselves. Default: the clock of the system. */
  readonly clock?: Clock
}

/** Defaults of `openTelemetryHistograms`. */
export const histogramsDefaults = { temporality: 'cumulative' } as const

/**
 * The durations of outboxes, as a reader of OpenTelemetry asks for them: a `MetricProducer` for the option
 * `metricProducers` of a `PeriodicExportingMetricReader`.
 */
export interface OpenTelemetryHistograms {
  collect(): Promise<CollectedHistograms>
}

/** What a reader of OpenTelemetry gets from a `MetricProducer`. */
export interface CollectedHistograms {
  resourceMetrics: {
    /** Not read: a reader takes the resource of its SDK. */
    resource: never
    scopeMetrics: { scope: { name: string; version: string }; metrics: CollectedHistogram[] }[]
  }
  errors: unknown[]
}

/** A histogram in the form of OpenTelemetry's `HistogramMetricData`. */
export interface CollectedHistogram {
  descriptor: { name: string; description: string; unit: string; valueType: 1 }
  aggregationTemporality: 0 | 1
  dataPointType: 0
  dataPoints: {
    startTime: [number, number]
    endTime: [number, number]
    attributes: Record<string, string>
    value: { buckets: { boundaries: number[]; counts: number[] }; sum: number; count: number }
  }[]
}

/**
 * Collects the durations of outboxes for a reader of OpenTelemetry. Pass the result to the reader as one of
 * its `metricProducers`, and to `openTelemetryMetrics` as `histograms`. A delivery then costs no call of the
 * SDK. With `temporality: 'delta'`, each reader needs its own.
 */
export function openTelemetryHistograms(
  options: OpenTelemetryHistogramsOptions = {},
): OpenTelemetryHistograms {
  checkOptions('openTelemetryHistograms', options, {
    temporality: oneOf('cumulative', 'delta'),
    clock: having('now'),
  })
  const { temporality = histogramsDefaults.temporality, clock = systemClock } = options
  return new HistogramProducer(temporality === 'delta', clock)
}

// The values of OpenTelemetry's enumerations.
const [delta, cumulative] = [0, 1] as const
const doubles = 1
const histogramPoints = 0

/** Reads the durations that outboxes have added up in memory. */
export class HistogramProducer implements OpenTelemetryHistograms {
  readonly #isDelta: boolean
  readonly #clock: Clock
  readonly #outboxes = new Map<string, Collected>()
  /** What the last reading had of each histogram. */
  readonly #last = new WeakMap<Histogram, Reading>()
  #since: [number, number]

  constructor(isDelta: boolean, clock: Clock) {
    this.#isDelta = isDelta
    this.#clock = clock
    this.#since = timeOf(clock.now())
  }

  /** Adds the metrics of outboxes to all further readings. */
  add(collected: Collected): void {
    const { prefix, outbox, metrics } = collected
    const key = `${prefix}\0${outbox}`
    const known = this.#outboxes.get(key)
    if (known !== undefined && known.metrics !== metrics) {
      throw new OutboxError(
        'OUTBOX_INVALID_OPTION',
        `openTelemetryMetrics: these histograms already have the outbox "${outbox}" (prefix "${prefix}") of another meter. ` +
          'Make others with openTelemetryHistograms(), for the readers of this meter.',
      )
    }
    this.#outboxes.set(key, collected)
  }

  collect(): Promise<CollectedHistograms> {
    const metrics = this.#read()
    const scope = { name: 'sendoff', version: sendoffVersion }
    const scopeMetrics = metrics.length === 0 ? [] : [{ scope, metrics }]
    return Promise.resolve({ resourceMetrics: { resource: undefined as never, scopeMetrics }, errors: [] })
  }

  #read(): CollectedHistogram[] {
    const [startTime, endTime] = [this.#since, timeOf(this.#clock.now())]
    if (this.#isDelta) this.#since = endTime
    const metrics = new Map<string, CollectedHistogram>()
    for (const { prefix, outbox, metrics: collected } of this.#outboxes.values()) {
      for (const definition of histogramDefinitions) {
        const name = openTelemetryName(definition, prefix)
        const dataPoints = collected.durations(definition.name).flatMap(({ labels, value: histogram }) => {
          const { counts, sum, count } = this.#readingOf(histogram)
          const value = { buckets: { boundaries: [...histogram.bounds], counts }, sum, count }
          return count === 0 ? [] : { startTime, endTime, attributes: { outbox, ...labels }, value }
        })
        if (dataPoints.length === 0) continue
        const metric = metrics.get(name) ?? this.#empty(name, definition.help)
        metrics.set(name, metric)
        metric.dataPoints.push(...dataPoints)
      }
    }
    return [...metrics.values()]
  }

  #readingOf(histogram: Histogram): Reading {
    const { counts, sumSeconds: sum, count } = histogram
    const all = { counts: [...counts], sum, count }
    if (!this.#isDelta) return all
    const before = this.#last.get(histogram)
    this.#last.set(histogram, all)
    if (before === undefined) return all
    return {
      counts: all.counts.map((now, bucket) => now - before.counts[bucket]!),
      sum: all.sum - before.sum,
      count: all.count - before.count,
    }
  }

  #empty(name: string, description: string): CollectedHistogram {
    return {
      descriptor: { name, description, unit: 's', valueType: doubles },
      aggregationTemporality: this.#isDelta ? delta : cumulative,
      dataPointType: histogramPoints,
      dataPoints: [],
    }
  }
}

/** The metrics of the outboxes of one name. */
export interface Collected {
  readonly prefix: string
  readonly outbox: string
  readonly metrics: CollectedMetrics
}

interface Reading {
  readonly counts: number[]
  readonly sum: number
  readonly count: number
}

/** Epoch milliseconds in the form of OpenTelemetry: seconds and nanoseconds. */
function timeOf(ms: number): [number, number] {
  return [Math.trunc(ms / 1_000), Math.trunc((ms % 1_000) * 1_000_000)]
}
