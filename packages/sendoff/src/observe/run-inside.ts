import { isThenable, watch } from './guarded.ts'

/**
 * Runs `work` inside `surround`, which users plug in: `surround` gets a function to call. Returns what `work`
 * returns. If `surround` fails, or does not call the function at once, `onError` gets the error, and `work`
 * runs without it. `work` runs once.
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
    const returned = surround(run)
    if (ran === undefined) onError(new TypeError('It did not call the function that it got.'))
    if (isThenable(returned)) watchOwn(returned, run, onError)
  } catch (error) {
    if (ran === undefined || !('error' in ran) || ran.error !== error) onError(error)
  }
  return run()
}

// An async `surround` rejects with the error of `work` as well, which the caller gets anyway.
function watchOwn(
  returned: PromiseLike<unknown>,
  run: () => unknown,
  onError: (error: unknown) => void,
): void {
  watch(returned, (error) => {
    const work = (async () => await run())()
    work.then(
      () => onError(error),
      (own) => {
        if (own !== error) onError(error)
      },
    )
  })
}
