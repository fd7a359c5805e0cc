export {
  type PrometheusMetricsOptions,
  type PrometheusRegistry,
  prometheusMetrics,
} from './prometheus-metrics.ts'
