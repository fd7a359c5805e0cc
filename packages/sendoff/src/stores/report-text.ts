import type { ProcessReport, ReportRequest } from '../store/index.ts'

/** Returns a stored report; null if there is none, or if it cannot be read. */
export function readReport(text: string | null | undefined): ProcessReport | null {
  try {
    const report: unknown = JSON.parse(text ?? 'null')
    return typeof report === 'object' && !Array.isArray(report) ? (report as ProcessReport | null) : null
  } catch {
    return null
  }
}

/** Returns statistics as a JSON array of objects, with the names of the columns. */
export function statisticsText(statistics: ReportRequest['statistics']): string {
  return JSON.stringify(
    statistics.map((each) => ({
      minute: each.minute,
      event_type: each.eventType,
      destination: each.destination,
      done: each.done,
      failed: each.failed,
      dead: each.dead,
      deferred: each.deferred,
      hot: each.hot,
      listener_ms: each.listenerMs,
      listener_buckets: each.listenerBuckets,
      delivery_buckets: each.deliveryBuckets,
    })),
  )
}
