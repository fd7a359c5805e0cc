import { describeError } from '../describe-error.ts'
import { guarded } from './guarded.ts'
import type { Logger } from './logger.ts'
import { runInside } from './run-inside.ts'
import type { TracedCall, TracedEnd, Tracing } from './tracing.ts'

/** Returns the tracing that an option asks for. It never throws. */
export function tracingFrom(option: Tracing | undefined, logger: Logger): Tracing | undefined {
  if (option === undefined) return undefined
  const onError = (error: unknown): void => logger.error(`The tracing failed. ${describeError(error)}`)
  const safely = <Result>(call: () => Result | undefined): Result | undefined => {
    try {
      return call()
    } catch (error) {
      onError(error)
      return undefined
    }
  }
  const safe = <Span extends object>(span: Span | undefined, ...names: (keyof Span & string)[]) =>
    span && guarded(span, names, onError)
  // The tracing gets back its own objects.
  const originals = new WeakMap<TracedCall, TracedCall>()

  const safeCall = (span: TracedCall | undefined): TracedCall | undefined => {
    if (span === undefined) return undefined
    const call: TracedCall = {
      run: (work) => runInside((run) => span.run(run), work, onError),
      end: (outcome, error) => safely(() => span.end(outcome, error)),
    }
    originals.set(call, span)
    return call
  }

  return {
    write: (write) =>
      safely(() => {
        const span = option.write(write)
        return span && { headers: span.headers, ...safe<TracedEnd>(span, 'end')! }
      }),
    deliver: (delivery) => safely(() => safeCall(option.deliver(delivery))),
    process: (message) => safely(() => safeCall(option.process?.(message))),
    settle: (traced, count) =>
      safely(() =>
        safe(
          option.settle(
            traced.map((call) => originals.get(call) ?? call),
            count,
          ),
          'end',
        ),
      ),
    tick: (startedAt) => safely(() => safe(option.tick(startedAt), 'claim', 'end')),
  }
}

/** Runs `work` inside a span, if there is one. The span ends with the outcome of `work`, or its error. */
export async function insideSpan<Result>(
  span: TracedCall | undefined,
  work: () => Promise<Result>,
  outcomeOf: (result: Result) => string,
): Promise<Result> {
  if (span === undefined) return await work()
  try {
    const result = await span.run(work)
    span.end(outcomeOf(result))
    return result
  } catch (error) {
    span.end('failed', describeError(error))
    throw error
  }
}
