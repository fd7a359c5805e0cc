import type { PurgeRequest } from '../../store.ts'
import type { Value } from './postgres-driver.ts'

/** The ages from which DONE, DEAD and any rows are deleted, as parameters; null to keep them. */
export function agesOf({ doneOlderThanMs, deadOlderThanMs, anyOlderThanMs }: PurgeRequest): Value[] {
  return [doneOlderThanMs, deadOlderThanMs, anyOlderThanMs].map((age) =>
    age === undefined ? null : String(age),
  )
}

/** Younger rows are kept whatever their state: nothing ends before it begins. Undefined where all are kept. */
export function youngestAgeOf({
  doneOlderThanMs,
  deadOlderThanMs,
  anyOlderThanMs,
}: PurgeRequest): number | undefined {
  const ages = [doneOlderThanMs, deadOlderThanMs, anyOlderThanMs].filter((age) => age !== undefined)
  return ages.length === 0 ? undefined : Math.min(...ages)
}
