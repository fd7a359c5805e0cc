import { checkOptions, count, having, type OptionCheck, requireOptions, text } from '../../options.ts'
import { bucketBounds } from '../bucket-bounds.ts'
import {
  CollectedMetrics,
  collectedDefaults,
  type CollectedMetricsOptions,
  type Kind,
} from '../collected-metrics.ts'
import type { CountedDelivery } from '../delivery-counts.ts'
import { defaultBuckets } from '../histogram.ts'
import {
  histogramDefinitions,
  type HistogramName,
  metricCatalogue,
  type MetricDefinition,
  type MetricName,
  openTelemetryName,
} from '../metric-catalogue.ts'
import type { MetricsExporter } from '../metrics.ts'
import { HistogramProducer, type OpenTelemetryHistograms } from './opentelemetry-histograms.ts'

/** The part of an OpenTelemetry meter that is used here: `metrics.getMeter('my-service')`. */
export interface OpenTelemetryMeter {
  createHistogram(name: string, options: InstrumentOptions): OpenTelemetryHistogram
  createObservableCounter(name: string, options: InstrumentOptions): ObservableInstrument
  createObservableGauge(name: string, options: InstrumentOptions): ObservableInstrument
}

/** A histogram of OpenTelemetry. */
export interface OpenTelemetryHistogram {
  record(value: number, attributes: Attributes): void
}

/** A counter or gauge that OpenTelemetry reads by a callback. */
export interface ObservableInstrument {
  addCallback(callback: (result: ObservableResult) => void | Promise<void>): void
}

/** Takes the values of an observable instrument. */
export interface ObservableResult {
  observe(value: number, attributes: Attributes): void
}

interface InstrumentOptions {
  readonly description: string
  readonly unit: string
  readonly advice?: { explicitBucketBoundaries: number[] }
}

type Attributes = Readonly<Record<string, string>>

/** Options of `openTelemetryMetrics`. */
export interface OpenTelemetryMetricsOptions {
  /** A meter: `metrics.getMeter('my-service')` of `@opentelemetry/api`. */
  readonly meter: OpenTelemetryMeter
  /** The beginning of every metric's name. Default: `outbox`. */
  readonly prefix?: string
  /** The value of the attribute `outbox`, for a process with several outboxes. Default: `default`. */
  readonly name?: string
  /** How many event types have an attribute of their own. All others are `other`. Default: 100. */
  readonly maxTypes?: number
  /** The upper bounds of the buckets of durations, in seconds, rising. Default: from 1 ms to 5 min. */
  readonly buckets?: readonly number[]
  /**
   * Where durations go: to what `openTelemetryHistograms()` has returned, or with `'record'` to histograms of
   * the meter. Then each duration is a call of the SDK, which costs more than all else. Default: nowhere.
   */
  readonly histograms?: OpenTelemetryHistograms | 'record'
}

/** Makes an exporter for OpenTelemetry. Outboxes with the same name are added up. */
export function openTelemetryMetrics(options: OpenTelemetryMetricsOptions): MetricsExporter {
  checkOptions('openTelemetryMetrics', options, {
    meter: having('createHistogram', 'createObservableCounter', 'createObservableGauge'),
    prefix: text,
    name: text,
    maxTypes: count,
    buckets: bucketBounds,
    histograms: histogramsCheck,
  })
  requireOptions('openTelemetryMetrics', options, ['meter'])
  const { meter, prefix = collectedDefaults.prefix, name = collectedDefaults.name, histograms } = options
  const byName = known.get(meter) ?? new Map<string, CollectedMetrics>()
  known.set(meter, byName)
  const key = `${prefix}\0${name}`
  let metrics = byName.get(key)
  if (metrics === undefined) byName.set(key, (metrics = newMetrics(options, prefix, name)))
  if (histograms instanceof HistogramProducer) histograms.add({ prefix, outbox: name, metrics })
  return metrics
}

const histogramsCheck: OptionCheck = (value) =>
  value === 'record' || value instanceof HistogramProducer
    ? undefined
    : "what openTelemetryHistograms() returns, or 'record'"

/** The metrics of each meter, by prefix and name. */
const known = new WeakMap<OpenTelemetryMeter, Map<string, CollectedMetrics>>()

function newMetrics(
  { meter, maxTypes = collectedDefaults.maxTypes, buckets, histograms }: OpenTelemetryMetricsOptions,
  prefix: string,
  outbox: string,
): CollectedMetrics {
  const metrics =
    histograms === 'record'
      ? new RecordedMetrics({ maxTypes, buckets }, recordersOf(meter, prefix, buckets), outbox)
      : new CollectedMetrics({ maxTypes, buckets })
  for (const definition of metricCatalogue) {
    if (definition.kind !== 'histogram') observe(meter, definition, metrics, prefix, outbox)
  }
  return metrics
}

function observe(
  meter: OpenTelemetryMeter,
  definition: MetricDefinition,
  metrics: CollectedMetrics,
  prefix: string,
  outbox: string,
): void {
  const name = openTelemetryName(definition, prefix)
  const options = { description: definition.help, unit: definition.name.endsWith('.ms') ? 'ms' : '1' }
  const instrument =
    definition.kind === 'counter'
      ? meter.createObservableCounter(name, options)
      : meter.createObservableGauge(name, options)
  instrument.addCallback(async (result) => {
    for (const { labels, value } of await metrics.samples(definition.name as MetricName)) {
      if (typeof value === 'number') result.observe(value, { outbox, ...labels })
    }
  })
}

type Recorders = Readonly<Record<'delivery' | 'listener' | 'poll' | 'settle', OpenTelemetryHistogram>>

function recordersOf(
  meter: OpenTelemetryMeter,
  prefix: string,
  buckets: readonly number[] = defaultBuckets,
): Recorders {
  const recorder = (wanted: HistogramName): OpenTelemetryHistogram => {
    const definition = histogramDefinitions.find(({ name }) => name === wanted)!
    return meter.createHistogram(openTelemetryName(definition, prefix), {
      description: definition.help,
      unit: 's',
      advice: { explicitBucketBoundaries: [...buckets] },
    })
  }
  return {
    delivery: recorder('delivery.duration'),
    listener: recorder('listener.duration'),
    poll: recorder('poll.duration'),
    settle: recorder('settle.duration'),
  }
}

/** Records each duration as well. A meter of OpenTelemetry has no histogram that is read by a callback. */
class RecordedMetrics extends CollectedMetrics {
  readonly #recorders: Recorders
  readonly #own: Attributes
  readonly #attributes = new WeakMap<Kind, Attributes>()

  constructor(options: CollectedMetricsOptions, recorders: Recorders, outbox: string) {
    super(options)
    this.#recorders = recorders
    this.#own = { outbox }
  }

  override recordDelivery(counted: CountedDelivery): void {
    super.recordDelivery(counted)
    const { listenerMs, deliveryMs } = counted
    const attributes = this.#attributesOf(this.kindOf(counted.eventType, counted.destination))
    if (listenerMs !== undefined) this.#recorders.listener.record(listenerMs / 1_000, attributes)
    if (deliveryMs !== undefined) this.#recorders.delivery.record(deliveryMs / 1_000, attributes)
  }

  override recordPoll(rows: number, durationMs: number): void {
    super.recordPoll(rows, durationMs)
    this.#recorders.poll.record(durationMs / 1_000, this.#own)
  }

  override recordSettle(rows: number, durationMs: number): void {
    super.recordSettle(rows, durationMs)
    this.#recorders.settle.record(durationMs / 1_000, this.#own)
  }

  #attributesOf(kind: Kind): Attributes {
    let attributes = this.#attributes.get(kind)
    if (attributes === undefined) this.#attributes.set(kind, (attributes = { ...this.#own, ...kind.labels }))
    return attributes
  }
}
