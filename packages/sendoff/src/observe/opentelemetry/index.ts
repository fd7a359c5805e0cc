export type * from './opentelemetry-api.ts'
export {
  type CollectedHistogram,
  type CollectedHistograms,
  type OpenTelemetryHistograms,
  openTelemetryHistograms,
  type OpenTelemetryHistogramsOptions,
} from './opentelemetry-histograms.ts'
export {
  type ObservableInstrument,
  type ObservableResult,
  type OpenTelemetryHistogram,
  type OpenTelemetryMeter,
  openTelemetryMetrics,
  type OpenTelemetryMetricsOptions,
} from './opentelemetry-metrics.ts'
export { openTelemetryTracing, type OpenTelemetryTracingOptions } from './opentelemetry-tracing.ts'
export { type OpenTelemetrySampler, sampledByLink } from './sampled-by-link.ts'
