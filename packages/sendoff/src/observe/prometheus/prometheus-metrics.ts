import { checkOptions, count, having, requireOptions, text } from '../../options.ts'
import { CollectedMetrics, collectedDefaults, type MetricSample } from '../collected-metrics.ts'
import {
  metricCatalogue,
  type MetricDefinition,
  type MetricName,
  prometheusName,
  prometheusValue,
} from '../metric-catalogue.ts'
import { bucketBounds } from '../bucket-bounds.ts'
import type { MetricsExporter } from '../metrics.ts'

/** The part of a `Registry` of `prom-client` that is used here, such as `client.register`. */
export interface PrometheusRegistry {
  registerMetric(metric: never): void
  getSingleMetric(name: string): unknown
}

/** Options of `prometheusMetrics`. */
export interface PrometheusMetricsOptions {
  /** The registry that Prometheus scrapes: `client.register` of `prom-client`, or another one. */
  readonly register: PrometheusRegistry
  /** The beginning of every metric's name. Default: `outbox`. */
  readonly prefix?: string
  /** The value of the label `outbox`, for a process with several outboxes. Default: `default`. */
  readonly name?: string
  /** How many event types have a label of their own. All others are `other`. Default: 100. */
  readonly maxTypes?: number
  /** The upper bounds of the buckets of durations, in seconds, rising. Default: from 1 ms to 5 min. */
  readonly buckets?: readonly number[]
}

/**
 * Makes an exporter for `prom-client`. Outboxes with different names share the metrics of one registry;
 * those with the same name are added up.
 */
export function prometheusMetrics(options: PrometheusMetricsOptions): MetricsExporter {
  checkOptions('prometheusMetrics', options, {
    register: having('registerMetric', 'getSingleMetric'),
    prefix: prometheusPrefix,
    name: text,
    maxTypes: count,
    buckets: bucketBounds,
  })
  requireOptions('prometheusMetrics', options, ['register'])
  const { register, prefix = collectedDefaults.prefix, name = collectedDefaults.name } = options
  const outboxes = outboxesOf(register, prefix)
  let metrics = outboxes.get(name)
  if (metrics === undefined) {
    const { maxTypes = collectedDefaults.maxTypes, buckets } = options
    outboxes.set(name, (metrics = new CollectedMetrics({ maxTypes, buckets })))
  }
  return metrics
}

/** The outboxes of each registry, by the prefix of its metrics and by name. */
const known = new WeakMap<PrometheusRegistry, Map<string, Outboxes>>()

type Outboxes = Map<string, CollectedMetrics>

function outboxesOf(register: PrometheusRegistry, prefix: string): Outboxes {
  const byPrefix = known.get(register) ?? new Map<string, Outboxes>()
  known.set(register, byPrefix)
  const outboxes = byPrefix.get(prefix) ?? new Map<string, CollectedMetrics>()
  byPrefix.set(prefix, outboxes)
  for (const definition of metricCatalogue) {
    const metric = new ScrapedMetric(definition, prefix, outboxes)
    // A registry that was cleared needs them again.
    if (register.getSingleMetric(metric.name) === undefined) register.registerMetric(metric as never)
  }
  return outboxes
}

/** The gauges of which each process has its own part. Of all others, the largest counts. */
const ofEachProcess: ReadonlySet<string> = new Set<MetricName>([
  'queue.hot.depth',
  'queue.cold.depth',
  'rows.held',
  'partitions.owned',
])

/** A metric in the form that a registry of `prom-client` asks for at a scrape. */
class ScrapedMetric {
  /** The registry renames counters if it speaks OpenMetrics. */
  name: string
  readonly help: string
  readonly type: string
  /** How a cluster of processes makes one value of theirs. */
  readonly aggregator: 'sum' | 'max'
  readonly #definition: MetricDefinition
  readonly #outboxes: Outboxes

  constructor(definition: MetricDefinition, prefix: string, outboxes: Outboxes) {
    this.name = prometheusName(definition, prefix)
    this.help = definition.help
    this.type = definition.kind
    this.aggregator = definition.kind === 'gauge' && !ofEachProcess.has(definition.name) ? 'max' : 'sum'
    this.#definition = definition
    this.#outboxes = outboxes
  }

  async get(): Promise<object> {
    const values: object[] = []
    for (const [outbox, metrics] of this.#outboxes) {
      for (const sample of await metrics.samples(this.#definition.name as MetricName)) {
        values.push(...this.#lines(sample, outbox))
      }
    }
    const { name, help, type, aggregator } = this
    return { name, help, type, aggregator, values }
  }

  /** Does nothing: the counts of an outbox only rise. The registry calls it in `resetMetrics()`. */
  reset(): void {}

  #lines({ labels: own, value }: MetricSample, outbox: string): readonly object[] {
    const labels = { outbox, ...own }
    if (typeof value === 'number') return [{ labels, value: prometheusValue(this.#definition, value) }]

    const { bounds, counts, sumSeconds, count: all } = value
    let below = 0
    return [
      ...bounds.map((le, bucket) => ({
        labels: { ...labels, le },
        value: (below += counts[bucket]!),
        metricName: `${this.name}_bucket`,
      })),
      { labels: { ...labels, le: '+Inf' }, value: all, metricName: `${this.name}_bucket` },
      { labels, value: sumSeconds, metricName: `${this.name}_sum` },
      { labels, value: all, metricName: `${this.name}_count` },
    ]
  }
}

function prometheusPrefix(value: unknown): string | undefined {
  return typeof value === 'string' && /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(value)
    ? undefined
    : 'a name of letters, digits and underscores that does not begin with a digit'
}
