import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { Registry } from 'prom-client'
import type { EventFields, MetricsExporter } from 'sendoff'
import {
  openTelemetryHistograms,
  openTelemetryMetrics,
  openTelemetryTracing,
  sampledByLink,
} from 'sendoff/opentelemetry'
import { prometheusMetrics } from 'sendoff/prometheus'
import type { BenchDatabases, StartWorker, Subject, Suite } from '../store-bench.ts'
import { drainSubject, sendoffBacklog } from './drain.ts'
import { type OutboxChoices, sendoffWorker } from './sendoff-outbox.ts'

const plain = 'sendoff-multi-node'
const withHeaders = `${plain}-headers`

/** Measures what metrics and traces cost a drain. */
export function observeSuite<Tx>(databases: BenchDatabases<Tx>): Suite {
  const subject = (
    name: string,
    choices: () => OutboxChoices,
    fieldsOf?: (number: number) => EventFields,
    ownLimit?: string,
  ): Subject =>
    drainSubject({
      name,
      ...(ownLimit !== undefined && { ownLimit }),
      // A service that has run for a minute has compiled what it does for one request in a hundred.
      backlog: sendoffBacklog(databases, fieldsOf, fieldsOf && tracedEvery(1)),
      worker: workerWith(databases, choices),
    })

  return {
    subjects: [
      subject(plain, () => ({})),
      // The same once more: no difference that is smaller than theirs says anything.
      subject(`${plain}-again`, () => ({})),
      subject(`${plain}-prometheus`, () => ({ metrics: prometheusMetrics({ register: new Registry() }) })),
      subject(`${plain}-opentelemetry`, () => ({ metrics: collected() })),
      subject(`${plain}-opentelemetry-record`, () => ({ metrics: recorded() })),
      // The same events without tracing: reading their headers costs a little, too.
      subject(withHeaders, () => ({}), tracedEvery(100)),
      subject(`${plain}-traced-1-percent`, () => ({ tracing: tracing(0.01) }), tracedEvery(100), withHeaders),
      subject(`${plain}-traced`, () => ({ tracing: tracing(1) }), tracedEvery(1), withHeaders),
    ],
    showsExactness: true,
    limit: plain,
  }
}

// The exporters are made in the process that measures, and once per outbox.
function workerWith<Tx>(databases: BenchDatabases<Tx>, choices: () => OutboxChoices): StartWorker {
  return (name, conditions, onEvent) =>
    sendoffWorker(databases, 'multiNode', choices())(name, conditions, onEvent)
}

/** The headers of an event whose request was recorded, for one event in `share`. */
function tracedEvery(share: number): (number: number) => EventFields {
  return (number) => {
    const id = (number + 1).toString(16)
    const flags = number % share === 0 ? '01' : '00'
    return { headers: { traceparent: `00-${id.padStart(32, 'a')}-${id.padStart(16, 'b')}-${flags}` } }
  }
}

function collected(): MetricsExporter {
  const histograms = openTelemetryHistograms()
  return openTelemetryMetrics({ meter: meter([histograms]), histograms })
}

function recorded(): MetricsExporter {
  return openTelemetryMetrics({ meter: meter(), histograms: 'record' })
}

function meter(metricProducers: MetricProducer[] = []): api.Meter {
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 3_600_000,
    metricProducers,
  })
  return new MeterProvider({ readers: [reader] }).getMeter('bench')
}

/** Tracing with the sampler that the docs recommend, which keeps this share of the requests. */
function tracing(share: number) {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  // Spans are made and batched, and go nowhere.
  const exporter = {
    export: (_: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
    shutdown: async () => {},
  }
  const provider = new TracerProvider({
    spanProcessors: [new BatchSpanProcessor({ exporter })],
    sampler: new ParentBasedSampler({ root: sampledByLink(new TraceIdRatioBasedSampler(share)) }),
  })
  return openTelemetryTracing({ api, tracer: provider.getTracer('bench') })
}
