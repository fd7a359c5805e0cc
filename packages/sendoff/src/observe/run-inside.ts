/**
 * Runs `work` inside `surround`, which users plug in: `surround` gets a function to call. Returns what `work`
 * returns. If `surround` fails, `onError` gets the error, and `work` runs without it. `work` runs once.
 */
export function runInside<Result>(
  surround: (run: () => Result) => unknown,
  work: () => Result,
  onError: (error: unknown) => void,
): Result {
  let ran: { readonly result: Result } | { readonly error: unknown } | undefined
  const run = (): Result => {
    if (ran === undefined) {
      try {
        ran = { result: work() }
      } catch (error) {
        ran = { error }
      }
    }
    if ('error' in ran) throw ran.error
    return ran.result
  }
  try {
    surround(run)
  } catch (error) {
    if (ran === undefined || !('error' in ran) || ran.error !== error) onError(error)
  }
  return run()
}
