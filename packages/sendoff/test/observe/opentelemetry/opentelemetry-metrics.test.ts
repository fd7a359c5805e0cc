import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { metricCatalogue, openTelemetryName } from '../../../src/observe/metric-catalogue.ts'
import { openTelemetryMetrics } from '../../../src/observe/opentelemetry/index.ts'
import { onEveryStore, startOutbox, writeTested } from '../../fixtures/outbox-fixture.ts'
import { filteringOutbox } from '../filtering-outbox.ts'

/** A real SDK whose metrics a test can read. */
function sdk() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
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
  const { meter, read, close } = sdk()
  test.after(close)
  const { outbox } = await startOutbox(test, open(), { mode, metrics: openTelemetryMetrics({ meter }) })
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

  it('records no durations without histograms', async (test) => {
    const { meter, read, close } = sdk()
    test.after(close)
    const metrics = openTelemetryMetrics({ meter, histograms: false })
    metrics.recordDelivery!({
      eventType: 'A',
      destination: 'mail',
      end: 'done',
      isHot: true,
      listenerMs: 1,
      deliveryMs: 1,
    })
    const read1 = await read()
    equal(read1.has('outbox.delivery.duration'), false)
    deepEqual(read1.get('outbox.deliveries')!.dataPoints[0]!.attributes, {
      outbox: 'default',
      type: 'A',
      destination: 'mail',
      outcome: 'done',
    })
  })
})

describe('deliveries that a rule filters', () => {
  it('have a counter and an outcome of their own, and no duration', async (test) => {
    const { meter, read, close } = sdk()
    test.after(close)
    const outbox = await filteringOutbox(openTelemetryMetrics({ meter }))
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
