import { describeError } from '../describe-error.ts'
import { guarded } from './guarded.ts'
import type { Logger } from './logger.ts'

/** What is used of a tracer of OpenTelemetry: `trace.getTracer('my-service')`. */
export interface Tracer {
  startSpan(name: string): TracedSpan
}

export interface TracedSpan {
  setAttribute(name: string, value: number): unknown
  recordException(error: Error): void
  end(): void
}

/** A span that cannot throw; undefined where there is no tracer, or it has failed. */
export function spanFrom(tracer: Tracer | undefined, name: string, logger: Logger): TracedSpan | undefined {
  if (tracer === undefined) return undefined
  const onError = (error: unknown): void => logger.error(`The tracer failed. ${describeError(error)}`)
  try {
    return guarded(tracer.startSpan(name), ['setAttribute', 'recordException', 'end'], onError)
  } catch (error) {
    onError(error)
    return undefined
  }
}
