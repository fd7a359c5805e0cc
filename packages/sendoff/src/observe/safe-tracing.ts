import { describeError, storableText } from '../describe-error.ts'
import { guarded, immediately } from './guarded.ts'
import type { RepeatedLines } from './repeated-lines.ts'
import { runInside } from './run-inside.ts'
import type { TracedCall, TracedEnd, TracedWrite, Tracing } from './tracing.ts'

/** Returns the tracing that an option asks for. It never throws. */
export function tracingFrom(option: Tracing | undefined, lines: RepeatedLines): Tracing | undefined {
  if (option === undefined) return undefined
  const onError = (error: unknown): void =>
    lines.tell('error', 'failures of the tracing', () => [`The tracing failed. ${describeError(error)}`, {}])
  // No span may also be null, or anything else that is not one.
  const safely = <Result>(call: () => Result | undefined): Result | undefined =>
    immediately(call, onError) || undefined
  const safe = <Span extends object>(span: Span | undefined, ...names: (keyof Span & string)[]) =>
    span && guarded(span, names, onError)
  // The tracing gets back its own objects.
  const originals = new WeakMap<TracedCall, TracedCall>()

  const safeCall = (span: TracedCall | undefined): TracedCall | undefined => {
    if (span === undefined) return undefined
    const ending = guarded(span, ['end'], onError)
    const call: TracedCall = {
      run: (work) => runInside((run) => span.run(run), work, onError),
      end: (outcome, error) => ending.end(outcome, error),
    }
    originals.set(call, span)
    return call
  }

  return {
    write(write) {
      const span = safely(() => option.write(write))
      if (span === undefined) return undefined
      const headers = safely(() => headersOf(span, onError)) ?? {}
      return { headers, ...safe<TracedEnd>(span, 'end')! }
    },
    // Every delivery comes here, and few are traced. Those that are not need no closure.
    deliver(delivery) {
      let span: TracedCall | undefined
      try {
        span = option.deliver(delivery)
      } catch (error) {
        return void onError(error)
      }
      return span === undefined ? undefined : safeCall(safely(() => span))
    },
    process: (message) => safeCall(safely(() => option.process?.(message))),
    settle: (traced, count) =>
      safe(
        safely(() =>
          option.settle(
            traced.map((call) => originals.get(call) ?? call),
            count,
          ),
        ),
        'end',
      ),
    tick: (startedAt) =>
      safe(
        safely(() => option.tick(startedAt)),
        'claim',
        'end',
      ),
  }
}

// No database stores all texts, and a write must not fail because of the tracing.
function headersOf({ headers }: TracedWrite, onError: (error: unknown) => void): Record<string, string> {
  const stored: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') stored[storableText(name)] = storableText(value)
    else onError(new TypeError(`The header "${name}" is not a text.`))
  }
  return stored
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
