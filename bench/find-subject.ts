import type { Conditions, Subject, SuiteName } from './store-bench.ts'
import { stores } from './stores/stores.ts'

/** What a process is started for, as JSON in its first argument. */
export interface MeasureRequest {
  readonly store: string
  readonly suite: SuiteName
  readonly subject: string
  readonly conditions: Conditions
}

/** The request this process was started for. Processes that it starts in turn are given the same. */
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
