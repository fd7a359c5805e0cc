import type { PurgeRequest } from '../../store.ts'
import type { Value } from './postgres-driver.ts'

/** The ages from which DONE, DEAD and any rows are deleted, as parameters; null to keep them. */
export function agesOf({ doneOlderThanMs, deadOlderThanMs, anyOlderThanMs }: PurgeRequest): Value[] {
  return [doneOlderThanMs, deadOlderThanMs, anyOlderThanMs].map((age) =>
    age === undefined ? null : String(age),
  )
}
