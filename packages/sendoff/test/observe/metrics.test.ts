import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { metricCatalogue, openTelemetryName, prometheusName } from '../../src/observe/metric-catalogue.ts'
import { engineMetrics, InMemoryMetrics, noMetrics } from '../../src/observe/metrics.ts'

describe('the names of metrics', () => {
  const named = new Map(
    metricCatalogue.map((each) => [openTelemetryName(each, 'outbox'), prometheusName(each, 'outbox')]),
  )

  it('are those of the specification, and in base units for Prometheus', () => {
    const specified = {
      'outbox.enqueue.hot': 'outbox_enqueue_hot_total',
      'outbox.enqueue.hot.dropped': 'outbox_enqueue_hot_dropped_total',
      'outbox.enqueue.hot.skipped.delayed': 'outbox_enqueue_hot_skipped_delayed_total',
      'outbox.enqueue.cold': 'outbox_enqueue_cold_total',
      'outbox.dispatch.success': 'outbox_dispatch_success_total',
      'outbox.dispatch.failure': 'outbox_dispatch_failure_total',
      'outbox.dispatch.dead': 'outbox_dispatch_dead_total',
      'outbox.dispatch.deferred': 'outbox_dispatch_deferred_total',
      'outbox.queue.hot.depth': 'outbox_queue_hot_depth',
      'outbox.queue.cold.depth': 'outbox_queue_cold_depth',
      'outbox.lag.oldest.ms': 'outbox_lag_oldest_seconds',
    }
    for (const [name, inPrometheus] of Object.entries(specified)) equal(named.get(name), inPrometheus)
  })

  it('are unique', () => {
    equal(new Set(named.values()).size, metricCatalogue.length)
  })

  it('begin with any prefix', () => {
    const lag = metricCatalogue.find(({ name }) => name === 'lag.oldest.ms')!
    deepEqual(
      [openTelemetryName(lag, 'shop.orders'), prometheusName(lag, 'shop')],
      ['shop.orders.lag.oldest.ms', 'shop_lag_oldest_seconds'],
    )
  })
})

describe('an exporter', () => {
  it('that has only the methods of the specification gets each count', () => {
    const exporter = new InMemoryMetrics()
    const metrics = engineMetrics(exporter)
    metrics.addDispatchSuccess(3)
    metrics.addColdEnqueued(2)
    metrics.addWritten(5)
    metrics.recordPoll(1, 1)
    deepEqual([exporter.dispatchSuccess, exporter.coldEnqueued, metrics.isOff], [3, 2, false])
    equal(engineMetrics(metrics), metrics)
  })

  it('that counts several at once gets one call', () => {
    const counts: number[] = []
    const metrics = engineMetrics({
      ...noMetrics,
      incrementDispatchSuccess: () => counts.push(-1),
      addDispatchSuccess: (count) => counts.push(count),
    })
    metrics.addDispatchSuccess(500)
    deepEqual(counts, [500])
  })

  it('that drops everything is known to be off', () => {
    deepEqual([engineMetrics().isOff, engineMetrics(noMetrics).isOff], [true, true])
  })
})
