import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { metricCatalogue, openTelemetryName } from '../../../src/observe/metric-catalogue.ts'
import type { MetricsExporter } from '../../../src/observe/metrics.ts'
import { openTelemetryHistograms, openTelemetryMetrics } from '../../../src/observe/opentelemetry/index.ts'
import { onEveryStore, startOutbox, writeTested } from '../../fixtures/outbox-fixture.ts'
import { filteringOutbox } from '../filtering-outbox.ts'

/** A real SDK whose metrics a test can read. */
function sdk(metricProducers: MetricProducer[] = []) {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 3_600_000,
    metricProducers,
  })
  const provider = new MeterProvider({ readers: [reader] })
  return {
    meter: provider.getMeter('test'),
    read: async () => {
      exporter.reset()
      await provider.forceFlush()
      const metrics = exporter
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((each) => each.metrics))
      return new Map(metrics.map((metric) => [metric.descriptor.name, metric]))
    },
    close: () => provider.shutdown(),
  }
}

onEveryStore('OpenTelemetry gets the metrics of the specification', async (test, open, mode) => {
  const histograms = openTelemetryHistograms()
  const { meter, read, close } = sdk([histograms])
  test.after(close)
  const metricsOption = openTelemetryMetrics({ meter, histograms })
  const { outbox } = await startOutbox(test, open(), { mode, metrics: metricsOption })
  await writeTested(outbox, 1, 2, 3)
  await outbox.drain()
  const metrics = await read()
  const valueOf = (name: string) => metrics.get(name)?.dataPoints.map(({ value }) => value)
  deepEqual(valueOf('outbox.enqueue.hot'), [3])
  deepEqual(valueOf('outbox.enqueue.cold'), [0])
  deepEqual(valueOf('outbox.dispatch.success'), [3])
  for (const name of ['failure', 'dead', 'deferred']) deepEqual(valueOf(`outbox.dispatch.${name}`), [0])
  deepEqual(valueOf('outbox.queue.hot.depth'), [0])
  deepEqual(valueOf('outbox.queue.cold.depth'), [0])
  deepEqual(valueOf('outbox.lag.oldest.ms'), [0])
  equal(metrics.get('outbox.lag.oldest.ms')!.descriptor.unit, 'ms')
  const [delivery] = metrics.get('outbox.delivery.duration')!.dataPoints
  deepEqual(delivery!.attributes, { outbox: 'default', type: 'Tested', destination: '' })
  equal((delivery!.value as { count: number }).count, 3)
  equal(metrics.get('outbox.delivery.duration')!.descriptor.unit, 's')

  // Nothing was polled, and there is no circuit breaker.
  const silent = ['outbox.breaker.open', 'outbox.poll.duration']
  for (const definition of metricCatalogue) {
    const name = openTelemetryName(definition, 'outbox')
    ok(metrics.has(name) || silent.includes(name), name)
  }
})

describe('openTelemetryMetrics', () => {
  it('keeps outboxes apart by name, and adds up those of one name', async (test) => {
    const { meter, read, close } = sdk()
    test.after(close)
    openTelemetryMetrics({ meter, name: 'orders' }).incrementDispatchDead()
    openTelemetryMetrics({ meter, name: 'mail' }).addDispatchDead!(2)
    openTelemetryMetrics({ meter, name: 'mail' }).addDispatchDead!(3)
    const points = (await read()).get('outbox.dispatch.dead')!.dataPoints
    deepEqual(
      points.map(({ attributes, value }) => [attributes.outbox, value]),
      [
        ['orders', 1],
        ['mail', 5],
      ],
    )
  })

  it('has durations only where `histograms` says', async (test) => {
    const { meter, read, close } = sdk()
    test.after(close)
    count(openTelemetryMetrics({ meter }), 'A', 1, 1)
    const metrics = await read()
    equal(metrics.has('outbox.delivery.duration'), false)
    deepEqual(metrics.get('outbox.deliveries')!.dataPoints[0]!.attributes, {
      outbox: 'default',
      type: 'A',
      destination: 'mail',
      outcome: 'done',
    })
    throws(() => openTelemetryMetrics({ meter, histograms: true as never }), {
      code: 'OUTBOX_INVALID_OPTION',
    })
  })

  it('has the same histograms from a producer as from the SDK', async (test) => {
    const histograms = openTelemetryHistograms()
    const produced = sdk([histograms])
    const recorded = sdk()
    test.after(produced.close)
    test.after(recorded.close)
    const buckets = [0.01, 0.1, 1]
    for (const metrics of [
      openTelemetryMetrics({ meter: produced.meter, buckets, histograms }),
      openTelemetryMetrics({ meter: recorded.meter, buckets, histograms: 'record' }),
    ]) {
      // 10 ms and 1 s are bounds. The second delivery failed before its listener ran.
      for (const [listenerMs, deliveryMs] of [
        [10, 100],
        [undefined, 1_000],
        [11, 5_000],
      ] as const) {
        count(metrics, 'A', listenerMs, deliveryMs)
      }
      count(metrics, 'B', 1, undefined)
      metrics.recordPoll!(7, 50)
      metrics.recordSettle!(7, 2)
      metrics.recordSettle!(7, 2_000)
    }
    const [ours, theirs] = [await produced.read(), await recorded.read()]
    for (const name of ['delivery', 'listener', 'poll', 'settle'].map((of) => `outbox.${of}.duration`)) {
      const [our, their] = [ours.get(name)!, theirs.get(name)!]
      const { type: _, advice: __, ...descriptor } = their.descriptor as { type?: string; advice?: object }
      deepEqual({ ...our.descriptor }, descriptor, name)
      equal(our.dataPointType, their.dataPointType)
      equal(our.aggregationTemporality, their.aggregationTemporality)
      const points = ({ dataPoints }: MetricData) =>
        dataPoints.map(({ attributes, value }) => {
          const { min: _, max: __, sum, ...rest } = value as { min?: number; max?: number; sum: number }
          return { attributes, ...rest, sum: sum.toFixed(6) }
        })
      deepEqual(points(our), points(their), name)
    }
  })

  for (const kept of ['a producer', 'the SDK']) {
    it(`gives at most \`maxTypes\` event types an attribute of their own, in histograms of ${kept}, too`, async (test) => {
      const histograms = kept === 'the SDK' ? 'record' : openTelemetryHistograms()
      const { meter, read, close } = sdk(histograms === 'record' ? [] : [histograms])
      test.after(close)
      const metrics = openTelemetryMetrics({ meter, maxTypes: 20, histograms })
      for (let type = 0; type < 10_000; type++) count(metrics, `Type${type}`, 1, 1)
      const seen = await read()
      for (const name of ['outbox.deliveries', 'outbox.delivery.duration', 'outbox.listener.duration']) {
        const types = seen.get(name)!.dataPoints.map(({ attributes }) => attributes.type)
        equal(new Set(types).size, 21, name)
        ok(types.includes('other'), name)
      }
    })
  }

  it('gives a reader that wants deltas only what is new', async (test) => {
    const histograms = openTelemetryHistograms({ temporality: 'delta' })
    const { meter, read, close } = sdk([histograms])
    test.after(close)
    const metrics = openTelemetryMetrics({ meter, histograms, buckets: [1] })
    const readings = async () => {
      const metric = (await read()).get('outbox.listener.duration')
      if (metric) equal(metric.aggregationTemporality, AggregationTemporality.DELTA)
      return (metric?.dataPoints ?? []).map(({ attributes, startTime, endTime, value }) => {
        const { buckets, sum, count } = value as { buckets: { counts: number[] }; sum: number; count: number }
        return { type: attributes.type, startTime, endTime, counts: buckets.counts, sum, count }
      })
    }
    count(metrics, 'A', 500, undefined)
    const [first] = await readings()
    deepEqual([first!.counts, first!.sum, first!.count], [[1, 0], 0.5, 1])
    deepEqual(await readings(), [])
    count(metrics, 'A', 2_000, undefined)
    count(metrics, 'B', 250, undefined)
    const second = await readings()
    deepEqual(
      second.map(({ type, counts, sum }) => [type, counts, sum]),
      [
        ['A', [0, 1], 2],
        ['B', [1, 0], 0.25],
      ],
    )
    const [seconds, nanos] = first!.endTime
    const [later, laterNanos] = second[0]!.startTime
    ok(
      later > seconds || (later === seconds && laterNanos >= nanos),
      'the second reading begins after the first',
    )
  })

  it('collects the durations of several outboxes, and refuses one that it already has', async (test) => {
    const histograms = openTelemetryHistograms()
    const { meter, read, close } = sdk([histograms])
    test.after(close)
    for (const name of ['orders', 'mail', 'mail']) {
      count(openTelemetryMetrics({ meter, name, histograms }), 'A', 1, undefined)
    }
    const { dataPoints } = (await read()).get('outbox.listener.duration')!
    deepEqual(
      dataPoints.map(({ attributes, value }) => [attributes.outbox, (value as { count: number }).count]),
      [
        ['orders', 1],
        ['mail', 2],
      ],
    )
    const other = sdk()
    test.after(other.close)
    throws(() => openTelemetryMetrics({ meter: other.meter, name: 'mail', histograms }), {
      code: 'OUTBOX_INVALID_OPTION',
      message: /"mail"/,
    })
  })
})

describe('deliveries that a rule filters', () => {
  it('have a counter and an outcome of their own, and no duration', async (test) => {
    const histograms = openTelemetryHistograms()
    const { meter, read, close } = sdk([histograms])
    test.after(close)
    const outbox = await filteringOutbox(openTelemetryMetrics({ meter, histograms }))
    test.after(() => outbox.close())
    const metrics = await read()
    deepEqual(
      metrics.get('outbox.dispatch.filtered')!.dataPoints.map(({ value }) => value),
      [2],
    )
    const outcomes = metrics.get('outbox.deliveries')!.dataPoints
    deepEqual(
      outcomes
        .filter(({ value }) => value !== 0)
        .map(({ attributes, value }) => [attributes['outcome'], value]),
      [
        ['done', 1],
        ['filtered', 2],
      ],
    )
    const [delivery] = metrics.get('outbox.delivery.duration')!.dataPoints
    equal((delivery!.value as { count: number }).count, 1)
  })
})

function count(
  metrics: MetricsExporter,
  eventType: string,
  listenerMs: number | undefined,
  deliveryMs: number | undefined,
): void {
  metrics.recordDelivery!({
    eventType,
    destination: 'mail',
    end: 'done',
    isHot: true,
    listenerMs,
    deliveryMs,
  })
}
