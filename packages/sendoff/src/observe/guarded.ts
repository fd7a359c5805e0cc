/**
 * Returns the same object with safe methods: errors that a method throws or rejects with go to `onError`, and
 * no further. Code that users plug in must not be able to stop the engine.
 */
export function guarded<Target extends object>(
  target: Target,
  methods: readonly (keyof Target & string)[],
  onError: (error: unknown) => void,
): Target {
  const safe = Object.create(null) as Record<string, unknown>
  for (const name of methods) {
    safe[name] = (...args: unknown[]): void => {
      try {
        const result = (target[name] as (...args: unknown[]) => unknown).apply(target, args)
        if (isThenable(result)) watch(result, onError)
      } catch (error) {
        onError(error)
      }
    }
  }
  return safe as Target
}

/** Returns the result of `call`. If that throws, or returns a promise, `onError` gets the error. */
export function immediately<Result>(
  call: () => Result,
  onError: (error: unknown) => void,
): Result | undefined {
  try {
    const result = call()
    if (!isThenable(result)) return result
    watch(result, onError)
    onError(new TypeError('It returned a promise. The outbox does not wait for it.'))
  } catch (error) {
    onError(error)
  }
  return undefined
}

/** Passes the error of a promise to `onError`. No other code waits for it, so it would end the process. */
export function watch(promise: PromiseLike<unknown>, onError: (error: unknown) => void): void {
  // A foreign promise may have methods of its own, which `await` does not call.
  void (async () => {
    try {
      await promise
    } catch (error) {
      onError(error)
    }
  })()
}

/** Whether a value is a promise, or something like one. Throws if the value cannot be read. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value
}
