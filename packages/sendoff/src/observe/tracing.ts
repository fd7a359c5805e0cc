/** What is used of a tracer of OpenTelemetry: `trace.getTracer('my-service')`. */
export interface Tracer {
  startSpan(name: string): TracedSpan
}

export interface TracedSpan {
  setAttribute(name: string, value: number): unknown
  recordException(error: Error): void
  end(): void
}
