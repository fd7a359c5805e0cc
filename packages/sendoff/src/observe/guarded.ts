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
        if (isThenable(result)) Promise.resolve(result).catch(onError)
      } catch (error) {
        onError(error)
      }
    }
  }
  return safe as Target
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value
}
