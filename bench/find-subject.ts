import type { Conditions, Subject, SuiteName } from './store-bench.ts'
import { stores } from './stores/stores.ts'

/** What a process has to measure, as JSON in its first argument. */
export interface MeasureRequest {
  readonly store: string
  readonly suite: SuiteName
  readonly subject: string
  readonly conditions: Conditions
}

/**
 * Returns the request that this process was started with. It passes the same request to processes that it
 * starts.
 */
export function measureRequest(): MeasureRequest {
  return JSON.parse(process.argv[2]!) as MeasureRequest
}

export function findSubject({ store, suite, subject }: MeasureRequest): Subject {
  const found = stores
    .find(({ name }) => name === store)
    ?.suites[suite]?.subjects.find(({ name }) => name === subject)
  if (found === undefined) throw new Error(`There is no subject ${subject} in suite ${suite} of ${store}.`)
  return found
}
