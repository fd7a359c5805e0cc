import { describeWithin } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'

/**
 * Wraps the store calls that an operator makes through an outbox, such as counting dead events. Whatever the
 * driver throws becomes a coded error that says what to do. A closed outbox refuses the calls.
 */
export function operatorCalls<Target extends object>(
  target: Target,
  names: readonly (keyof Target & string)[],
  requireOpen: (what: string) => void,
): Target {
  const calls = names.map((name) => [
    name,
    async (...args: never[]): Promise<unknown> => {
      requireOpen(name)
      try {
        return await (target[name] as (...args: never[]) => Promise<unknown>).apply(target, args)
      } catch (error) {
        throw storeFailure(
          `${name}() of the store failed`,
          error,
          'If its tables do not exist yet, call await outbox.start() or await store.migrate() first.',
        )
      }
    },
  ])
  return Object.fromEntries(calls) as Target
}

/** Returns a coded error for whatever a driver threw. An error that has a code already stays as it is. */
export function storeFailure(what: string, error: unknown, advice: string): OutboxError {
  if (error instanceof OutboxError) return error
  return new OutboxError('OUTBOX_STORE_FAILED', `${what}: ${describeWithin(error)}. ${advice}`, {
    cause: error,
  })
}
