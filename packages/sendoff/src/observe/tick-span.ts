import { describeError } from '../describe-error.ts'
import { guarded, immediately } from './guarded.ts'
import type { Logger } from './logger.ts'

/** The part of an OpenTelemetry tracer that sendoff uses: `trace.getTracer('my-service')`. */
export interface Tracer {
  startSpan(name: string): TracedSpan
}

/** The part of an OpenTelemetry span that sendoff uses. */
export interface TracedSpan {
  setAttribute(name: string, value: number): unknown
  recordException(error: Error): void
  end(): void
}

/** Starts a span whose methods never throw. Returns undefined if there is no tracer, or it has failed. */
export function spanFrom(tracer: Tracer | undefined, name: string, logger: Logger): TracedSpan | undefined {
  if (tracer === undefined) return undefined
  const onError = (error: unknown): void => logger.error(`The tracer failed. ${describeError(error)}`)
  const span = immediately(() => tracer.startSpan(name) || noSpan(), onError)
  return span && guarded(span, ['setAttribute', 'recordException', 'end'], onError)
}

function noSpan(): never {
  throw new TypeError('It returned no span.')
}
