import { innerErrors } from '../describe-error.ts'

/** An error with the fields that clients add to its message. */
export interface ClientError extends Error {
  readonly code?: unknown
  readonly status?: unknown
}

/** Returns an error, its causes, and the errors that they aggregate. */
export function errorChain(error: unknown): readonly ClientError[] {
  const chain: ClientError[] = []
  const visit = (each: unknown): void => {
    if (!(each instanceof Error) || chain.includes(each) || chain.length >= 20) return
    chain.push(each)
    visit(each.cause)
    innerErrors(each).forEach(visit)
  }
  visit(error)
  return chain
}
