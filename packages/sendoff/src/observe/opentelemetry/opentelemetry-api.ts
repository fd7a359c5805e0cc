/** The part of `@opentelemetry/api` that is used here: `import * as api from '@opentelemetry/api'`. */
export interface OpenTelemetryApi<Context = never> {
  readonly ROOT_CONTEXT: Context
  readonly context: {
    active(): Context
    with<Result>(context: Context, work: () => Result): Result
  }
  readonly propagation: {
    inject(context: Context, carrier: Record<string, string>): void
    extract(context: Context, carrier: Readonly<Record<string, string>>): Context
  }
  readonly trace: {
    getTracer(name: string, version?: string): OpenTelemetryTracer<Context>
    setSpan(context: Context, span: never): Context
    getSpanContext(context: Context): SpanContext | undefined
  }
}

/** The part of a tracer that is used here. */
export interface OpenTelemetryTracer<Context = never> {
  startSpan(name: string, options: SpanOptions, context: Context): OpenTelemetrySpan
}

/** The part of a span that is used here. */
export interface OpenTelemetrySpan {
  spanContext(): SpanContext
  isRecording(): boolean
  setAttribute(name: string, value: string | number): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

/** Names a span across processes. */
export interface SpanContext {
  traceId: string
  spanId: string
  traceFlags: number
  isRemote?: boolean
}

/** Options of a span. */
export interface SpanOptions {
  /** A value of OpenTelemetry's `SpanKind`. */
  kind: number
  /** The attributes of the span. */
  attributes: Record<string, string | number>
  /** Other spans that the span belongs to. */
  links?: { context: SpanContext }[]
  /** When the span began, in epoch milliseconds. Default: now. */
  startTime?: number
  /** Whether the span begins a trace of its own. */
  root?: boolean
}
