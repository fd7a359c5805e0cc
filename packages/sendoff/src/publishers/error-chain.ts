/** What clients say about an error beside its message. */
export interface ClientError extends Error {
  readonly code?: unknown
  readonly status?: unknown
}

/** An error and its causes, the errors of an `AggregateError` included. */
export function errorChain(error: unknown): readonly ClientError[] {
  const chain: ClientError[] = []
  const visit = (each: unknown): void => {
    if (!(each instanceof Error) || chain.includes(each) || chain.length >= 20) return
    chain.push(each)
    visit(each.cause)
    if (each instanceof AggregateError) each.errors.forEach(visit)
  }
  visit(error)
  return chain
}
