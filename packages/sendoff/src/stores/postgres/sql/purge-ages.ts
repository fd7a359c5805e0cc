import type { PurgeRequest } from '../../../store/index.ts'
import type { Value } from '../drivers/postgres-driver.ts'

/** The ages from which DONE, DEAD and any rows are deleted, as parameters; null to keep them. */
export function agesOf({ doneOlderThanMs, deadOlderThanMs, anyOlderThanMs }: PurgeRequest): Value[] {
  return [doneOlderThanMs, deadOlderThanMs, anyOlderThanMs].map((age) =>
    age === undefined ? null : String(age),
  )
}
