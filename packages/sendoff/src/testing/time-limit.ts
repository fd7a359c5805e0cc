import { AssertionError } from 'node:assert'

/**
 * Default time limit, in ms of real time. It is shorter than that of most test runners, so that the better
 * message wins.
 */
export const defaultTimeLimitMs = 4_000

/** Resolves as `work` does, or rejects after `ms` with a message that it builds then. */
export async function withinTimeLimit<Result>(
  work: Promise<Result>,
  ms: number,
  message: () => string | Promise<string>,
): Promise<Result> {
  const timeIsUp = Promise.withResolvers<'timeIsUp'>()
  const timer = setTimeout(() => timeIsUp.resolve('timeIsUp'), ms)
  try {
    const first = await Promise.race([work.then((result) => ({ result })), timeIsUp.promise])
    if (first !== 'timeIsUp') return first.result
  } finally {
    clearTimeout(timer)
  }
  throw expectationFailed(await message())
}

/** Returns an error that test runners show as a failed assertion. */
export function expectationFailed(message: string): AssertionError {
  return new AssertionError({ message })
}
